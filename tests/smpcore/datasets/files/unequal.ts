@problemName t
@timeStamps false
@univariate false
@dimensions 2
@targetLabel true
@data
2,3,4,5:7,8:1.5
2,3,4,6:7,9:2.5
