"""Becomes another program that dies with its parent, as another account if asked to.

Run by path (`python -I -S leash.py SIGNAL ACCOUNT PROGRAM ARGUMENT...`), so it imports nothing of
ours: as root it starts before privileges are dropped, because the account that the program runs
under may not be able to reach this Python.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    wanted, account, *command = sys.argv[1:]
    parent = os.getppid()
    if account:
        drop_to(account)
    # Changing the account clears the parent-death signal, so it is set afterwards.
    die_with_parent(signal.Signals[wanted], parent)
    os.execv(command[0], command)  # noqa: S606


def drop_to(account: str) -> None:
    import pwd

    entry = pwd.getpwnam(account)
    os.initgroups(account, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def die_with_parent(wanted: signal.Signals, parent: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes
    except ImportError:
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(wanted), 0, 0, 0)
    # The parent may have gone between its fork and the call above.
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    main()
