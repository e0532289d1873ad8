"""The one settings file. docs/configuration.md lists every variable it reads."""

from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from config import database, env

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(
    env.text("RECOUNT_HOME", str(BASE_DIR / "var"), "Folder of keys, embedded services and logs.")
).absolute()
PRODUCTION = env.flag(
    "RECOUNT_PRODUCTION", False, "Production mode: no secret has a default, HTTPS is assumed."
)
DEBUG = False

# Addresses ---------------------------------------------------------------------------------
PORT = env.number("PORT", 8000, "Port of the web server.", least=1)
HOST = env.text("RECOUNT_HOST", "127.0.0.1", "Address the web server of `make run` binds to.")
BASE_URL = env.text(
    "RECOUNT_BASE_URL", f"http://127.0.0.1:{PORT}", "Public address, used in links and cookies."
).rstrip("/")
BASE = urlsplit(BASE_URL)
HTTPS = BASE.scheme == "https"
LOCAL_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = env.words(
    "RECOUNT_ALLOWED_HOSTS",
    [BASE.hostname or "localhost"] if PRODUCTION else [*LOCAL_HOSTS, BASE.hostname or "localhost"],
    "Host names the server answers to; never `*`.",
)
if "*" in ALLOWED_HOSTS:
    raise env.MissingSetting(
        "RECOUNT_ALLOWED_HOSTS may not contain *: it would allow DNS rebinding"
    )
CSRF_TRUSTED_ORIGINS = [BASE_URL]
PROXIES = env.number(
    "RECOUNT_PROXIES", 0, "Number of reverse proxies in front that set X-Forwarded-For and -Proto."
)

# Secrets -----------------------------------------------------------------------------------
SECRET_KEY = env.secret(
    "RECOUNT_SECRET_KEY",
    "Signs cookies and forms; at least 50 random characters.",
    production=PRODUCTION,
    file=HOME / "secrets" / "django.key",
)
ROOT_KEY_FILE = Path(
    env.text(
        "RECOUNT_ROOT_KEY_FILE", str(HOME / "keys" / "root.key"), "File that holds the root key."
    )
)
ROOT_KEY = env.text(
    "RECOUNT_ROOT_KEY", "", "Root key itself, 32 bytes in base64; takes the place of the file."
)

# Parts -------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_celery_beat",
    "django_linear_migrations",
    "axes",
    "csp",
    "config",
    "sessions_app",
    "retention",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.policy.ContentPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "sessions_app.web.access.Gate",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "sessions_app.web.respond.ErrorsToPages",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "sessions_app.web.surroundings.surroundings",
            ],
        },
    }
]

# Database ----------------------------------------------------------------------------------
DATABASE_POOL = env.flag(
    "RECOUNT_DATABASE_POOL",
    False,
    "Keep a pool of connections; `make run` sets it for the web part.",
)
DATABASE_URL = env.text(
    "DATABASE_URL",
    "",
    "PostgreSQL to use instead of the embedded one: postgresql://user:password@host/name.",
)
if PRODUCTION and not DATABASE_URL:
    raise env.MissingSetting("DATABASE_URL must be set in production mode")
DATABASES = {
    "default": database.entry(
        DATABASE_URL or f"postgresql:///recount?host={HOME / 'socket'}", pool=DATABASE_POOL
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
POSTGRES_USER = env.text(
    "RECOUNT_POSTGRES_USER",
    "",
    "Account the embedded Postgres runs under when started as root (recount, postgres or nobody).",
)

# Jobs --------------------------------------------------------------------------------------
BROKER_FOLDER = HOME / "broker"
CELERY_BROKER_URL = env.text(
    "CELERY_BROKER_URL",
    "filesystem://",
    "Broker: redis://, amqp://, or the file-backed default under RECOUNT_HOME.",
)
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "data_folder_in": str(BROKER_FOLDER / "messages"),
        "data_folder_out": str(BROKER_FOLDER / "messages"),
        "control_folder": str(BROKER_FOLDER / "control"),
    }
else:
    # A job's lease is minutes long and renewed; a message that comes back earlier than this
    # would only be refused by the claim.
    CELERY_BROKER_TRANSPORT_OPTIONS = (
        {"visibility_timeout": 3600} if CELERY_BROKER_URL.startswith("redis") else {}
    )
CELERY_TASK_DEFAULT_QUEUE = "recount"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Nothing here steers workers through the broker, and RabbitMQ would turn away a second worker of
# the same machine because both would own the same control queue.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
CELERY_BEAT_SCHEDULE = {
    "sweep-jobs": {"task": "sessions_app.tasks.sweep_jobs", "schedule": 5.0},
    "sweep-staging": {"task": "sessions_app.tasks.sweep_staging", "schedule": 60.0},
    "sweep-tallies": {"task": "sessions_app.tasks.sweep_tallies", "schedule": 15.0},
    "merge-index": {"task": "sessions_app.tasks.merge_index", "schedule": 10.0},
}
JOB_LEASE_SECONDS = env.number(
    "RECOUNT_JOB_LEASE_SECONDS", 60, "How long a silent job counts as alive.", least=1
)
JOB_ATTEMPTS = env.number(
    "RECOUNT_JOB_ATTEMPTS", 5, "Deaths of its worker after which a job is quarantined.", least=1
)

# People ------------------------------------------------------------------------------------
AUTH_USER_MODEL = "sessions_app.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "people:sign_in"
LOGIN_REDIRECT_URL = "sessions:list"
LOGOUT_REDIRECT_URL = "people:sign_in"
# Name and address together, so that nobody can lock another person out from elsewhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_CALLABLE = "sessions_app.web.people.locked_out"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
# It would keep the address of every sign-in, and with it the tokens of sign-in links.
AXES_DISABLE_ACCESS_LOG = True
AXES_IPWARE_PROXY_COUNT = PROXIES or None
SESSION_ENGINE = "sessions_app.store.door"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# Cookies do not know ports: two installs on one machine would sign each other out.
SESSION_COOKIE_NAME = f"recount_session_{PORT}"
CSRF_COOKIE_NAME = f"recount_csrf_{PORT}"

# Web ---------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
SECURE_SSL_REDIRECT = HTTPS and PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
X_FRAME_OPTIONS = "DENY"
# An upload over the memory limit is spooled to a file without a name, so that nothing readable
# is left behind by a crash; the default handler keeps a named temporary file.
FILE_UPLOAD_HANDLERS = ["sessions_app.web.uploads.NamelessFileHandler"]
UPLOAD_LIMIT = env.number(
    "RECOUNT_UPLOAD_LIMIT_MB", 2048, "Largest file the browser upload takes, in MB.", least=1
)
INGEST_BODY = env.number(
    "RECOUNT_INGEST_BODY_MB", 64, "Largest delivery of a machine, unpacked, in MB.", least=1
)
INGEST_RATE = env.number(
    "RECOUNT_INGEST_RATE_MB", 1024, "What one ingest token may send in a minute, in MB.", least=1
)
STAGING_FOLDER = HOME / "staging"
STAGING_LIMIT = env.number(
    "RECOUNT_STAGING_MB", 2048, "Deliveries that may wait to be taken in, in MB.", least=1
)
SEARCH_MEMORY_BYTES = 1_000_000 * env.number(
    "RECOUNT_SEARCH_MEMORY_MB", 512, "What a web process keeps in memory to search in, in MB."
)
DATA_UPLOAD_MAX_NUMBER_FILES = 200
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(
    env.text("RECOUNT_STATIC_ROOT", str(HOME / "static"), "Where collectstatic puts its files.")
)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

LOG_LEVEL = env.text("RECOUNT_LOG_LEVEL", "INFO", "Level of the log: DEBUG, INFO, WARNING, ERROR.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "config.logs.Reticent",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django.db.backends": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
    },
}
