%# of a device
@problemName t
@univariate true
@classLabel true u v
@data
1,2,5:u
2,3,6:v
