# The binary and nothing else: it is static, and has the time zones compiled in. `make image` hands over the folder that
# holds it, with whatever builds images here.
FROM scratch
COPY noderotation /noderotation
USER 65532:65532
ENTRYPOINT ["/noderotation"]
CMD ["controller"]
