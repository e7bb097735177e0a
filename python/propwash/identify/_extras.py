"""What identification needs beside numpy."""


def require_scipy() -> None:
    """Raises ImportError, which says what brings it, where scipy is missing."""
    try:
        import scipy  # noqa: F401
    except ImportError as error:
        raise ImportError('identification needs scipy: pip install "propwash[tune]"') from error
