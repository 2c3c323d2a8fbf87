"""What went wrong with `resources.storage`, as one message that says what was expected, what came, and what to do.

Arrow raises OSError with the server's answer as text (`AWS Error NO_SUCH_BUCKET during ...`), so that is read here.
"""

from __future__ import annotations

import errno
import re

ERRNO = errno.EREMOTEIO  # by which a trial's outcome says that the storage failed, not the trial
UNANSWERED = re.compile(
    r"NETWORK_CONNECTION|curlCode|SLOW_DOWN|SlowDown|THROTTL|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|InternalError"
    r"|REQUEST_TIMEOUT|HTTP status 5\d\d"
)
CLOCK = re.compile(r"REQUEST_TIME_TOO_SKEWED|RequestTimeTooSkewed|REQUEST_EXPIRED|RequestExpired")
REFUSED = re.compile(
    r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY_ID|INVALID_SIGNATURE|INVALID_CLIENT_TOKEN|EXPIRED_TOKEN"
    r"|InvalidAccessKeyId|AccessDenied|ExpiredToken|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION|HTTP status 40[13]"
)
NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|Bucket '.*' not found")
SHOWN = 300  # characters of the server's answer


class StorageError(OSError):
    """The storage cannot be used. The message is complete. `transient`: it may answer later."""

    def __init__(self, message: str, transient: bool = False):
        super().__init__(message)
        self.errno, self.transient = ERRNO, transient

    def __str__(self) -> str:
        return str(self.args[0])


def explained(where: str, error: Exception) -> StorageError:
    """The error of a request to a storage with its remedy.

    Parameters
    ----------
    where : the setting, its URI, and the endpoint if one is set.
    """
    text = " ".join(str(error).split())
    answer = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    if CLOCK.search(text):
        what = "it refuses requests because this machine's clock differs too much from its own. Set the clocks (NTP)"
    elif REFUSED.search(text):
        what = (
            "it refuses the credentials of this machine. Expected: keys that may list, read, write and delete there. "
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws, on every node"
        )
    elif NO_BUCKET.search(text):
        what = "the bucket does not exist there. Create it, or name an existing one"
    elif UNANSWERED.search(text):
        what = (
            "it does not answer. Start it, or correct the address (AWS_ENDPOINT_URL, or ?endpoint_override=host:port "
            "in the URI), and run this again: finished work is kept"
        )
        return StorageError(f"{where}: {what}. It said: {answer}", transient=True)
    else:
        what = "a request failed"
    return StorageError(f"{where}: {what}. It said: {answer}")
