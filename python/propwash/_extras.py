"""Optional dependencies."""


def require_scipy(what: str) -> None:
    """Raises ImportError, with the command that installs it, where scipy is missing."""
    try:
        import scipy  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{what} needs scipy: pip install "propwash[tune]"') from error
