#!/usr/bin/env bash
# A whole study as one Slurm job, after one wait in the queue. From the root of the project, in the study's environment:
#
#   sbatch --account NAME --partition NAME profiles/allocation.sh --configfile config/studies/real.yaml
#
# What follows the script's name goes to Snakemake; flags before it, such as --cpus-per-task 32, win over those below.
#SBATCH --job-name=scant --output=scant-%j.log
#SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8 --mem=16000 --time=04:00:00
# Two minutes before the end Snakemake itself is told, which leaves no lock; the next job goes on from there.
#SBATCH --signal=B:TERM@120
exec snakemake "$@" --cores "$SLURM_CPUS_PER_TASK" --resources mem_mb="$SLURM_MEM_PER_NODE"
