-- Which transaction wrote a session last: whoever holds a copy in memory asks for those written
-- since. `changed` of a row that nobody else sees yet is at least the snapshot's xmin.
CREATE FUNCTION sessions_app_session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END $$;
CREATE TRIGGER session_changed BEFORE INSERT OR UPDATE ON sessions_app_session
    FOR EACH ROW EXECUTE FUNCTION sessions_app_session_changed();

-- What can be opened with a key is a part of what is known of its session.
CREATE FUNCTION sessions_app_session_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions_app_session SET changed = 0 WHERE id = OLD.session_id;
    RETURN NULL;
END $$;
CREATE TRIGGER session_key_changed AFTER UPDATE OR DELETE ON sessions_app_sessionkey
    FOR EACH ROW EXECUTE FUNCTION sessions_app_session_key_changed();

-- A row that is gone tells nothing any more: its workspace does.
CREATE FUNCTION sessions_app_session_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions_app_workspace SET erased = pg_current_xact_id()::text::bigint
    WHERE id IN (SELECT DISTINCT workspace_id FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER session_erased AFTER DELETE ON sessions_app_session
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION sessions_app_session_erased();
