-- Prompts and errors are looked for from everywhere and are few: the outline, the number of a turn,
-- the next error. The flags come along so that the index alone answers.
CREATE INDEX event_marks ON sessions_app_event (session_id, seq) INCLUDE (flags) WHERE flags & 9 <> 0;
