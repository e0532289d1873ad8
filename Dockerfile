# Builds the packages apart from what runs, so that no compiler or cache is in the image.
FROM python:3.13-slim AS packages
WORKDIR /build
COPY requirements.txt .
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt

FROM python:3.13-slim
RUN groupadd --gid 10001 recount \
    && useradd --uid 10001 --gid recount --no-create-home --home-dir /home/recount --shell /usr/sbin/nologin recount \
    && install -d -o recount -g recount -m 0700 /var/recount /var/recount/keys /var/recount/staging
COPY --from=packages /opt/venv /opt/venv
WORKDIR /srv/recount
COPY manage.py ./
COPY config config
COPY runtime runtime
COPY sessions_app sessions_app
COPY retention retention
COPY templates templates
COPY static static
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    RECOUNT_HOME=/var/recount \
    RECOUNT_STATIC_ROOT=/srv/static
# Static files belong to the image. The values are only what the settings need to load; none is kept.
RUN install -d -o recount -g recount /srv/static \
    && RECOUNT_HOME=/tmp/build python manage.py collectstatic --no-input --verbosity 0 \
    && rm -rf /tmp/build
USER recount
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-access-log", "--no-server-header", "--log-level", "warning", "--timeout-graceful-shutdown", "5"]
