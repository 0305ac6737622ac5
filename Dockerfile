# The environment of requirements.lock, for a clone that is mounted; scant.def makes the same for Apptainer.
#   docker build --tag scant .
#   docker run --rm --user "$(id -u)" --volume "$PWD:/study" scant --cores 4
FROM python:3.11-slim

WORKDIR /scant
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY src src

# What LightGBM is linked with.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*

# Wheels, so that nothing of a package is run when it is installed. One package has none: it is built by the locked
# setuptools, where pip would take another. pip compiles all bytecode.
RUN sed -n '/^setuptools==/,/[^\\]$/p' requirements.lock > build.lock
RUN pip install --no-cache-dir --require-hashes -r build.lock
RUN pip install --no-cache-dir --no-build-isolation --only-binary :all: --no-binary connection-pool --require-hashes -r requirements.lock
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

# Nobody but root may change what is installed. What a user compiles is kept in the home, which is the container's own.
RUN useradd --no-create-home scant
ENV HOME=/tmp MPLCONFIGDIR=/tmp PYTHONDONTWRITEBYTECODE=1

USER scant
WORKDIR /study
ENTRYPOINT ["snakemake"]
