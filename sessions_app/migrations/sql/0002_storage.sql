-- Sealed bytes and hashed terms do not compress: trying costs ingest time and gains nothing.
ALTER TABLE sessions_app_chunk ALTER COLUMN sealed SET STORAGE EXTERNAL;
ALTER TABLE sessions_app_chunk ALTER COLUMN terms SET STORAGE EXTERNAL;
