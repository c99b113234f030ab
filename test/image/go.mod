module noderotation.io/noderotation/test/image

go 1.26.6
