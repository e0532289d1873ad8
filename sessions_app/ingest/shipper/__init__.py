"""The program that other machines run to send their logs: one file, served as it is."""
