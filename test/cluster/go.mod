module noderotation.io/noderotation/test/cluster

go 1.26.6
