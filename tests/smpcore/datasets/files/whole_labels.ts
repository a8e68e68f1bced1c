@problemName t
@timeStamps false
@univariate true
@classLabel true 3 4
@data
1,2,5:3.0
2,3,6:4.0
