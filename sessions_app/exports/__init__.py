"""Documents made of the record: one session, some of its events, or many sessions; as HTML that
stands alone, as Markdown, as a table, or as the bytes that came in."""
