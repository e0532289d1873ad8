"""What can go wrong around the processes, said in words a person can act on."""


class Trouble(Exception):
    """Stops a start or a command; the message is printed as it is, without a traceback."""
