"""What the methods have in common: the contract of estimators, rows, starts."""
