import csv

print(csv.field_size_limit())  # bytes
