@problemName t
@timestamps false
@univariate true
@classLabel false
@data
1,2,5
2,3,6
3,4,7
