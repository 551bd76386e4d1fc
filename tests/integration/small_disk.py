"""A disk of a few MiB: a tmpfs in a mount namespace of its own, which is gone with its keeper.

    with SmallDisk(folder, size_mib=8) as disk:
        serve = Serve(folder, store=disk.inside / "lull.db", wrapper=disk.wrapper)
        disk.outside                the same folder, as this process reaches it
        disk.put_ballast(bytes), disk.take_ballast(), disk.free_bytes()

Without root, in a user namespace. Where neither is to be had, it fails: it is never left out.
"""

import os
import pathlib
import subprocess


class SmallDisk:
    def __init__(self, folder, size_mib):
        self.inside = pathlib.Path(folder) / "disk"
        self.inside.mkdir()
        self._size_mib = size_mib

    def __enter__(self):
        is_root = os.geteuid() == 0
        self._keeper = subprocess.Popen(
            ["unshare", *([] if is_root else ["--map-root-user"]), "--mount", "sh", "-c",
             f'mount -t tmpfs -o size={self._size_mib}m none "$0" && echo mounted && exec cat', str(self.inside)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self._keeper.stdout.readline() != "mounted\n":
            raise RuntimeError("no small disk: " + self._keeper.communicate()[1])
        pid = self._keeper.pid
        self.outside = pathlib.Path(f"/proc/{pid}/root{self.inside}")
        self.wrapper = ["nsenter", *([] if is_root else [f"--user=/proc/{pid}/ns/user", "--preserve-credentials"]),
                        f"--mount=/proc/{pid}/ns/mnt"]
        return self

    def __exit__(self, *_):
        self._keeper.communicate()

    def put_ballast(self, size):
        """Up to so many bytes; returns how many there was room for."""
        done = 0
        with (self.outside / "ballast").open("ab", buffering=0) as ballast:
            try:
                while done < size:
                    done += ballast.write(b"\0" * min(4096, size - done))
            except OSError:
                pass
        return done

    def take_ballast(self):
        (self.outside / "ballast").unlink()

    def free_bytes(self):
        about = os.statvfs(self.outside)
        return about.f_bavail * about.f_bsize
