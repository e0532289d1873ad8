"""The running house without Django: home folder, embedded Postgres and the processes around it."""
