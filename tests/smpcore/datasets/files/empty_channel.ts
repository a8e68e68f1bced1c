@problemName t
@timeStamps false
@univariate false
@dimensions 2
@missing true
@classLabel true u v
@data
4,5:?:u
4,5:6,7:v
