@problemName t
@timeStamps true
@univariate true
@classLabel true 0 1
@data
(0,2.5),(1,3.5):0
(0,4.5),(1,5.5):1
