@problemName t
@timestamps false
@univariate true
@classLabel true old cow half-moon
@data
1,2,5:old
2,3,6:cow
3,4,8:half-moon
