# denokv in the version that the tests run on and that all figures are of, from crates.io: some four minutes on two cores.
# docker build -f deploy/docker/denokv.Dockerfile -t denokv:0.14.0 deploy/docker

FROM rust:1.95.0-bookworm AS build
RUN ["cargo", "install", "--locked", "denokv@0.14.0", "--root", "/denokv"]

# The same release of Debian as the one above (bookworm is 12), whose C library it was built with.
FROM debian:12.11-slim
COPY --from=build /denokv/bin/denokv /usr/local/bin/denokv
EXPOSE 4512
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/denokv"]
