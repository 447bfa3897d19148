-- A store of revision 0022: its schema on SQLite, then its rows.
CREATE TABLE access_classes (
	number INTEGER NOT NULL,
	digest BLOB NOT NULL,
	inheritance_type TEXT,
	inherit_from TEXT,
	entries TEXT NOT NULL,
	keys BLOB NOT NULL,
	policy_number BIGINT NOT NULL,
	CONSTRAINT pk_access_classes PRIMARY KEY (number),
	CONSTRAINT uq_access_classes_digest UNIQUE (digest)
);
CREATE TABLE accounts (
	namespace TEXT NOT NULL,
	account_key TEXT NOT NULL,
	name TEXT NOT NULL,
	domain TEXT NOT NULL,
	role TEXT NOT NULL,
	password_hash TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	changed_at BIGINT NOT NULL,
	CONSTRAINT pk_accounts PRIMARY KEY (namespace, account_key)
);
CREATE TABLE acl_versions (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url_digest BLOB NOT NULL,
	url TEXT NOT NULL,
	access_class BIGINT,
	at BIGINT NOT NULL,
	feed_id BIGINT NOT NULL
);
CREATE TABLE acls (
	url_digest BLOB NOT NULL,
	url TEXT NOT NULL,
	datasource TEXT NOT NULL,
	feed_id BIGINT NOT NULL,
	seen_feed_id BIGINT NOT NULL,
	origin TEXT NOT NULL,
	inheritance_type TEXT NOT NULL,
	inherit_from TEXT,
	entries TEXT NOT NULL, access_class BIGINT DEFAULT '0' NOT NULL,
	CONSTRAINT pk_acls PRIMARY KEY (url_digest)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE api_tokens (
	id INTEGER NOT NULL,
	digest BLOB NOT NULL,
	label TEXT NOT NULL,
	scopes TEXT NOT NULL,
	namespace TEXT,
	account_key TEXT,
	name TEXT,
	domain TEXT,
	created_at BIGINT NOT NULL,
	expires_at BIGINT,
	used_at BIGINT, datasources TEXT,
	CONSTRAINT pk_api_tokens PRIMARY KEY (id),
	CONSTRAINT uq_api_tokens_digest UNIQUE (digest)
);
CREATE TABLE crawl_entries (
	url_digest BLOB NOT NULL,
	url_start TEXT NOT NULL,
	url_rest TEXT NOT NULL,
	site_id BIGINT NOT NULL,
	urgency INTEGER NOT NULL,
	priority INTEGER NOT NULL,
	due_at BIGINT,
	lease_owner TEXT NOT NULL,
	lease_expires_at BIGINT,
	is_renewed BOOLEAN NOT NULL,
	pagerank INTEGER,
	depth INTEGER NOT NULL,
	is_once BOOLEAN NOT NULL,
	referrer TEXT NOT NULL,
	state INTEGER NOT NULL,
	added_at BIGINT NOT NULL,
	interval_seconds BIGINT NOT NULL,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL,
	checksum BLOB,
	changed_at BIGINT,
	crawled_at BIGINT,
	failures INTEGER NOT NULL,
	failed_at BIGINT,
	history TEXT NOT NULL, duplicate_of TEXT DEFAULT '' NOT NULL, original_digest BLOB,
	CONSTRAINT pk_crawl_entries PRIMARY KEY (url_digest)
);
CREATE TABLE crawl_sites (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	site TEXT NOT NULL,
	site_digest BLOB NOT NULL,
	urgency INTEGER NOT NULL,
	due_at BIGINT,
	free_at BIGINT NOT NULL,
	retry_at BIGINT NOT NULL,
	failures INTEGER NOT NULL,
	failed_at BIGINT,
	reason TEXT NOT NULL,
	lease_owner TEXT NOT NULL,
	lease_expires_at BIGINT,
	robots_at BIGINT,
	robots_state INTEGER NOT NULL,
	robots BLOB NOT NULL, sitemaps TEXT DEFAULT '[]' NOT NULL,
	CONSTRAINT uq_crawl_sites_site_digest UNIQUE (site_digest)
);
CREATE TABLE datasources (
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	CONSTRAINT pk_datasources PRIMARY KEY (name)
);
CREATE TABLE document_failures (
	document_id INTEGER NOT NULL,
	version BIGINT NOT NULL,
	step TEXT NOT NULL,
	reason TEXT NOT NULL,
	at BIGINT NOT NULL,
	program TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	is_found BOOLEAN NOT NULL,
	CONSTRAINT pk_document_failures PRIMARY KEY (document_id)
);
CREATE TABLE documents (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	url_digest BLOB NOT NULL,
	url TEXT NOT NULL,
	state TEXT NOT NULL,
	origin TEXT NOT NULL,
	datasource TEXT NOT NULL,
	version BIGINT NOT NULL,
	feed_id BIGINT NOT NULL,
	seen_feed_id BIGINT NOT NULL,
	secure BOOLEAN NOT NULL,
	locked BOOLEAN NOT NULL,
	rank INTEGER NOT NULL,
	attributes TEXT NOT NULL,
	metadata TEXT NOT NULL,
	content TEXT,
	content_bytes BIGINT NOT NULL,
	charset TEXT,
	text TEXT,
	updated_at BIGINT NOT NULL,
	events INTEGER NOT NULL, access_class BIGINT DEFAULT '1' NOT NULL, classed_at BIGINT DEFAULT '0' NOT NULL, classed_by BIGINT DEFAULT '0' NOT NULL,
	CONSTRAINT uq_documents_url_digest UNIQUE (url_digest)
);
CREATE TABLE embedding_changes (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	document_id BIGINT NOT NULL,
	CONSTRAINT uq_embedding_changes_document_id UNIQUE (document_id)
);
CREATE TABLE embedding_queue (
	document_id INTEGER NOT NULL,
	queued_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	attempts INTEGER NOT NULL,
	CONSTRAINT pk_embedding_queue PRIMARY KEY (document_id)
);
CREATE TABLE embeddings (
	document_id INTEGER NOT NULL,
	version BIGINT NOT NULL,
	model TEXT NOT NULL,
	digest BLOB NOT NULL,
	dimensions INTEGER NOT NULL,
	vectors BLOB NOT NULL,
	CONSTRAINT pk_embeddings PRIMARY KEY (document_id)
);
CREATE TABLE events (
	document_id INTEGER NOT NULL,
	slot INTEGER NOT NULL,
	number INTEGER NOT NULL,
	at BIGINT NOT NULL,
	kind TEXT NOT NULL,
	feed_id BIGINT,
	line BIGINT NOT NULL,
	detail TEXT NOT NULL,
	CONSTRAINT pk_events PRIMARY KEY (document_id, slot)
)
 WITHOUT ROWID;
CREATE TABLE feed_log (
	feed_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	level TEXT NOT NULL,
	record BIGINT NOT NULL,
	line BIGINT NOT NULL,
	url TEXT,
	reason TEXT NOT NULL,
	CONSTRAINT pk_feed_log PRIMARY KEY (feed_id, number)
);
CREATE TABLE feeds (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	datasource TEXT NOT NULL,
	kind TEXT NOT NULL,
	file TEXT NOT NULL,
	repaired_file TEXT,
	size_bytes BIGINT NOT NULL,
	received_at BIGINT NOT NULL,
	client TEXT NOT NULL,
	state TEXT NOT NULL,
	phase TEXT NOT NULL,
	records BIGINT DEFAULT '0' NOT NULL,
	applied BIGINT DEFAULT '0' NOT NULL,
	included BIGINT DEFAULT '0' NOT NULL,
	errors BIGINT DEFAULT '0' NOT NULL,
	acls BIGINT DEFAULT '0' NOT NULL,
	logged BIGINT DEFAULT '0' NOT NULL,
	finished_at BIGINT,
	searchable_at BIGINT,
	lease_owner TEXT,
	lease_expires_at BIGINT
, queue TEXT DEFAULT '' NOT NULL, late_logged BIGINT DEFAULT '0' NOT NULL, moved_at BIGINT, reached BIGINT DEFAULT '0' NOT NULL, failure TEXT, format TEXT DEFAULT '' NOT NULL);
CREATE TABLE group_changes (
	member_digest BLOB NOT NULL,
	group_number INTEGER NOT NULL,
	feed_id INTEGER NOT NULL,
	gained BOOLEAN NOT NULL,
	CONSTRAINT pk_group_changes PRIMARY KEY (member_digest, group_number, feed_id)
)
 WITHOUT ROWID;
CREATE TABLE group_definitions (
	id INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	group_digest BLOB NOT NULL,
	namespace TEXT NOT NULL,
	domain TEXT NOT NULL,
	name TEXT NOT NULL,
	memberships BIGINT NOT NULL, members_digest BLOB,
	CONSTRAINT pk_group_definitions PRIMARY KEY (id)
);
CREATE TABLE group_members (
	definition_id INTEGER NOT NULL,
	member_digest BLOB NOT NULL,
	CONSTRAINT pk_group_members PRIMARY KEY (definition_id, member_digest)
)
 WITHOUT ROWID;
CREATE TABLE group_names (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	group_digest BLOB NOT NULL,
	namespace TEXT NOT NULL,
	domain TEXT NOT NULL,
	name TEXT NOT NULL,
	feed_id BIGINT NOT NULL,
	CONSTRAINT uq_group_names_group_digest UNIQUE (group_digest)
);
CREATE TABLE group_publications (
	feed_id INTEGER NOT NULL,
	source TEXT NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_group_publications PRIMARY KEY (feed_id)
);
CREATE TABLE "group_snapshots" (
	feed_id INTEGER NOT NULL,
	source TEXT NOT NULL,
	is_full BOOLEAN NOT NULL,
	state TEXT NOT NULL,
	memberships BIGINT NOT NULL,
	replaced_memberships BIGINT NOT NULL,
	CONSTRAINT pk_group_layers PRIMARY KEY (feed_id)
);
CREATE TABLE group_sources (
	name TEXT NOT NULL,
	memberships BIGINT NOT NULL,
	CONSTRAINT pk_group_sources PRIMARY KEY (name)
);
CREATE TABLE "index_tasks" (
	document_id INTEGER NOT NULL,
	version BIGINT NOT NULL,
	stage TEXT NOT NULL,
	lane INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	datasource TEXT NOT NULL,
	revokes_access BOOLEAN NOT NULL, is_refresh BOOLEAN DEFAULT 0 NOT NULL, queued_at BIGINT DEFAULT '0' NOT NULL,
	CONSTRAINT pk_marks PRIMARY KEY (document_id)
);
CREATE TABLE interruptions (
	"key" TEXT NOT NULL,
	count INTEGER NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_interruptions PRIMARY KEY ("key")
);
CREATE TABLE "key_values" (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	CONSTRAINT pk_facts PRIMARY KEY (name)
);
CREATE TABLE link_queue (
	work INTEGER NOT NULL,
	document_id INTEGER NOT NULL, queued_at BIGINT DEFAULT '0' NOT NULL,
	CONSTRAINT pk_link_queue PRIMARY KEY (work, document_id)
)
 WITHOUT ROWID;
CREATE TABLE link_texts (
	target_id INTEGER NOT NULL,
	source_id INTEGER NOT NULL,
	text TEXT NOT NULL,
	CONSTRAINT pk_link_texts PRIMARY KEY (target_id, source_id)
)
 WITHOUT ROWID;
CREATE TABLE "one_time_values" (
	digest BLOB NOT NULL,
	value TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	CONSTRAINT pk_one_times PRIMARY KEY (digest)
);
CREATE TABLE past_classes (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	document_id BIGINT NOT NULL,
	access_class BIGINT NOT NULL,
	since BIGINT NOT NULL,
	begun_by BIGINT NOT NULL,
	until BIGINT NOT NULL,
	ended_by BIGINT NOT NULL
);
CREATE TABLE policies (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	digest BLOB NOT NULL,
	pattern TEXT NOT NULL,
	name TEXT NOT NULL,
	position BIGINT,
	entries TEXT NOT NULL,
	CONSTRAINT uq_policies_digest UNIQUE (digest)
);
CREATE TABLE policy_versions (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at BIGINT NOT NULL,
	policies TEXT NOT NULL
);
CREATE TABLE pull_dry_items (
	source TEXT NOT NULL,
	url_digest BLOB NOT NULL,
	is_deleted BOOLEAN NOT NULL,
	CONSTRAINT pk_pull_dry_items PRIMARY KEY (source, url_digest)
);
CREATE TABLE pull_items (
	source TEXT NOT NULL,
	url_digest BLOB NOT NULL,
	url TEXT NOT NULL,
	digest BLOB NOT NULL,
	listing BIGINT NOT NULL,
	is_deleted BOOLEAN NOT NULL,
	CONSTRAINT pk_pull_items PRIMARY KEY (source, url_digest)
);
CREATE TABLE pull_runs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	source TEXT NOT NULL,
	is_full BOOLEAN NOT NULL,
	is_dry BOOLEAN NOT NULL,
	is_forced BOOLEAN NOT NULL,
	mode TEXT,
	state TEXT NOT NULL,
	requested_at BIGINT NOT NULL,
	started_at BIGINT,
	finished_at BIGINT,
	added BIGINT NOT NULL,
	changed BIGINT NOT NULL,
	deleted BIGINT NOT NULL,
	unchanged BIGINT NOT NULL,
	errors BIGINT NOT NULL,
	held BIGINT NOT NULL,
	known BIGINT NOT NULL,
	listing BIGINT NOT NULL,
	first_listing BIGINT NOT NULL,
	unnamed BIGINT NOT NULL,
	checkpoint TEXT NOT NULL,
	since TEXT NOT NULL,
	restarts INTEGER NOT NULL,
	reason TEXT NOT NULL,
	log TEXT NOT NULL
);
CREATE TABLE pull_sources (
	source TEXT NOT NULL,
	seen_at BIGINT NOT NULL,
	is_paused BOOLEAN NOT NULL,
	lease_owner TEXT NOT NULL,
	lease_expires_at BIGINT,
	listing BIGINT NOT NULL,
	since TEXT NOT NULL,
	completed_at BIGINT,
	full_at BIGINT,
	tried_at BIGINT,
	failures INTEGER NOT NULL,
	failed_at BIGINT,
	CONSTRAINT pk_pull_sources PRIMARY KEY (source)
);
CREATE TABLE queues (
	name TEXT NOT NULL,
	begun_at BIGINT,
	moved_at BIGINT,
	reached BIGINT DEFAULT '0' NOT NULL,
	document TEXT,
	reason TEXT,
	CONSTRAINT pk_queues PRIMARY KEY (name)
);
CREATE TABLE "replaced_tasks" (
	document_id INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	revokes_access BOOLEAN NOT NULL,
	CONSTRAINT pk_overtaken_marks PRIMARY KEY (document_id, feed_id)
);
CREATE TABLE "session_digests" (
	digest BLOB NOT NULL,
	session_digest BLOB NOT NULL,
	CONSTRAINT pk_session_marks PRIMARY KEY (digest, session_digest)
);
CREATE TABLE sessions (
	digest BLOB NOT NULL,
	credentials TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	CONSTRAINT pk_sessions PRIMARY KEY (digest)
);
CREATE TABLE "stored_settings" (
	section TEXT NOT NULL,
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	version BIGINT NOT NULL,
	CONSTRAINT pk_kept_settings PRIMARY KEY (section, name)
);
CREATE INDEX ix_accounts_account_key ON accounts (account_key);
CREATE INDEX ix_acl_versions_access_class ON acl_versions (access_class);
CREATE INDEX ix_acl_versions_at ON acl_versions (at);
CREATE INDEX ix_acl_versions_url_digest_number ON acl_versions (url_digest, number);
CREATE INDEX ix_acls_access_class ON acls (access_class);
CREATE INDEX ix_acls_datasource ON acls (datasource);
CREATE INDEX ix_crawl_entries_checksum ON crawl_entries (checksum, original_digest, added_at) WHERE checksum IS NOT NULL;
CREATE INDEX ix_crawl_entries_due ON crawl_entries (due_at) WHERE lease_owner = '' AND due_at IS NOT NULL;
CREATE INDEX ix_crawl_entries_duplicates ON crawl_entries (original_digest) WHERE original_digest IS NOT NULL;
CREATE INDEX ix_crawl_entries_leased ON crawl_entries (lease_owner, lease_expires_at) WHERE lease_owner <> '';
CREATE INDEX ix_crawl_entries_next ON crawl_entries (site_id, urgency, priority, due_at) WHERE lease_owner = '' AND due_at IS NOT NULL;
CREATE INDEX ix_crawl_entries_site_id_state ON crawl_entries (site_id, state);
CREATE INDEX ix_crawl_entries_url_start ON crawl_entries (url_start);
CREATE INDEX ix_crawl_sites_urgency_due_at ON crawl_sites (urgency, due_at);
CREATE INDEX ix_documents_class ON documents (access_class, id) WHERE access_class > 1;
CREATE INDEX ix_documents_classed ON documents (classed_at, id);
CREATE INDEX ix_documents_eviction ON documents (locked, rank, updated_at) WHERE state = 'live';
CREATE INDEX ix_documents_live ON documents (datasource, id) WHERE state = 'live';
CREATE INDEX ix_embedding_queue_due_at ON embedding_queue (due_at);
CREATE INDEX ix_feeds_datasource_id ON feeds (datasource, id);
CREATE INDEX ix_feeds_unapplied ON feeds (id) WHERE phase IN ('scan', 'apply', 'sweep');
CREATE INDEX ix_feeds_unsettled ON feeds (id) WHERE phase IN ('settle', 'done') AND searchable_at IS NULL;
CREATE INDEX ix_group_definitions_feed_id ON group_definitions (feed_id);
CREATE UNIQUE INDEX ix_group_definitions_group ON group_definitions (group_digest, feed_id);
CREATE INDEX ix_group_members_member_digest_definition_id ON group_members (member_digest, definition_id);
CREATE INDEX ix_group_publications_at ON group_publications (at);
CREATE INDEX ix_group_snapshots_source_state ON group_snapshots (source, state);
CREATE INDEX ix_index_tasks_feed_id ON index_tasks (feed_id);
CREATE INDEX ix_index_tasks_stage_lane_feed_id_document_id ON index_tasks (stage, lane, feed_id, document_id);
CREATE INDEX ix_link_texts_source_id ON link_texts (source_id);
CREATE INDEX ix_one_time_values_expires_at ON one_time_values (expires_at);
CREATE INDEX ix_past_classes_access_class ON past_classes (access_class);
CREATE INDEX ix_past_classes_document_id_until ON past_classes (document_id, until);
CREATE INDEX ix_past_classes_until_document_id ON past_classes (until, document_id);
CREATE INDEX ix_policy_versions_at ON policy_versions (at);
CREATE INDEX ix_pull_runs_source_id ON pull_runs (source, id);
CREATE INDEX ix_pull_runs_state ON pull_runs (state);
CREATE INDEX ix_replaced_tasks_feed_id ON replaced_tasks (feed_id);
CREATE INDEX ix_session_digests_session_digest ON session_digests (session_digest);
CREATE INDEX ix_sessions_expires_at ON sessions (expires_at);
INSERT INTO alembic_version (version_num) VALUES ('0022');
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, repaired_file, queue, format, state, phase, finished_at, searchable_at, records, applied, included, errors, acls, logged, late_logged) VALUES ('192.0.2.1', 100, 1767225600000000, 1, 'src', 'full', 'f1', 'f1.repaired', 'src', 'gsafeed', 'completed', 'done', 1767225660000000, 1767225720000000, 8, 8, 7, 1, 1, 1, 0);
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, queue, format, state, phase, finished_at, searchable_at, records) VALUES ('192.0.2.1', 100, 1767225600000000, 2, 'people', 'groups-full', 'f2', '/xmlgroups', 'gsagroups', 'completed', 'done', 1767225660000000, 1767225720000000, 1);
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, state, phase, queue, failure, format) VALUES ('192.0.2.1', 100, 1767225600000000, 3, 'src', 'incremental', 'f3', 'received', 'scan', 'src', 'disk full', 'gsafeed');
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, queue, format, state, phase, finished_at, searchable_at) VALUES ('192.0.2.1', 100, 1767225600000000, 4, 'old', 'delete', '', 'old', '', 'completed', 'done', 1767225660000000, 1767225720000000);
INSERT INTO feed_log (feed_id, number, level, record, line, url, reason) VALUES (1, 0, 'error', 8, 90, 'http://docs.test/gone', 'no such action');
INSERT INTO datasources (name, kind) VALUES ('src', 'content');
INSERT INTO datasources (name, kind) VALUES ('web', 'web');
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (1, X'02435b8ae978c17efb483113463dc6ed', 'http://docs.test/public', 'live', 'content', 'src', 1, 1, 1, FALSE, FALSE, 90, '{"display_url":"http://shown.test/","mimetype":"text/html","last_modified":1767225600000000,"authmethod":"none","pagerank":90}', '[["author","Ann"],["Author","O''Hara"]]', 'b1', 17, 'utf-8', '{"source":"b1","blob":"b2","title":"Öffentlich","language":"de","metadata":[["robots","noarchive"]],"robots":["noarchive"]}', 1767225660000000, 2, 0, 1767225600000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (2, X'1fd46118c2ca8202e1bb8afe14edf830', 'http://docs.test/guarded', 'live', 'content', 'src', 2, 1, 1, TRUE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225720000000, 0, 2, 1767225660000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (3, X'46bfb79c842e645f5efb1409e3fa6b9f', 'http://docs.test/child', 'live', 'content', 'src', 3, 1, 1, TRUE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225780000000, 0, 3, 1767225600000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (4, X'32cf051d0a0f2cb626ea40dc6183bf04', 'http://docs.test/gone', 'gone', 'content', 'src', 4, 1, 1, FALSE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225840000000, 0, 0, 1767225720000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (5, X'f47a7adba494ef20b31841efc6b1be38', 'http://docs.test/closed', 'live', 'content', 'src', 5, 1, 1, TRUE, FALSE, 96, '{"authmethod":"ntlm"}', '[]', NULL, 0, NULL, NULL, 1767225900000000, 0, 1, 1767225600000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (6, X'38bc968181be4c3ddbaf0463226ff35c', 'http://docs.test/same', 'live', 'content', 'src', 6, 1, 1, TRUE, TRUE, 96, '{"lock":true}', '[]', NULL, 0, NULL, NULL, 1767225960000000, 0, 2, 1767225600000000, 1);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events, access_class, classed_at, classed_by) VALUES (7, X'b384e4d31a63041aa7a9635ace67cece', 'http://docs.test/named', 'live', 'web', 'web', 7, 1, 1, FALSE, FALSE, 96, '{"crawl_immediately":true,"crawl_once":true}', '[]', NULL, 0, NULL, NULL, 1767226020000000, 0, 0, 1767225600000000, 1);
INSERT INTO events (document_id, slot, number, at, kind, feed_id, line, detail) VALUES (1, 0, 0, 1767225600000000, 'fed', 1, 7, 'by hand');
INSERT INTO events (document_id, slot, number, at, kind, feed_id, line, detail) VALUES (1, 1, 1, 1767225600000001, 'metadata fed', 1, 7, 'by hand');
INSERT INTO past_classes (number, document_id, access_class, since, begun_by, until, ended_by) VALUES (1, 2, 0, 1767225600000000, 1, 1767225660000000, 1);
INSERT INTO index_tasks (document_id, version, stage, lane, revokes_access, is_refresh, feed_id, datasource, queued_at) VALUES (1, 1, 'extract', 0, FALSE, FALSE, 1, 'src', 1767225600000000);
INSERT INTO index_tasks (document_id, version, stage, lane, revokes_access, is_refresh, feed_id, datasource, queued_at) VALUES (2, 2, 'index', 1, TRUE, FALSE, 1, 'src', 1767225600000000);
INSERT INTO index_tasks (document_id, version, stage, lane, revokes_access, is_refresh, feed_id, datasource, queued_at) VALUES (6, 6, 'index', 1, FALSE, TRUE, 1, 'src', 1767225600000000);
INSERT INTO replaced_tasks (document_id, feed_id, revokes_access) VALUES (2, 3, FALSE);
INSERT INTO link_texts (target_id, source_id, text) VALUES (1, 7, 'the public page');
INSERT INTO link_queue (work, document_id, queued_at) VALUES (0, 3, 1767225600000000);
INSERT INTO document_failures (document_id, version, step, reason, at, program, attempts, is_found) VALUES (5, 5, 'extract', 'broken', 1767225600000000, '0.1', 2, TRUE);
INSERT INTO interruptions (key, count, at) VALUES ('record 7', 1, 1767225600000000);
INSERT INTO acls (url_digest, url, feed_id, access_class, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'1fd46118c2ca8202e1bb8afe14edf830', 'http://docs.test/guarded', 1, 2, 'src', 1, 'element', 'leaf-node', NULL, '[["permit","user","CORP\\Ann","Default",false,false],["deny","group","interns","Default",true,false],["permit","user","  ","Default",true,false],["permit","user","CORP\\Ann","Default",false,false],["permit","group","Straße ｅｎｇ","Default",false,false],["permit","user","a/b@c","ext",true,true]]');
INSERT INTO acl_versions (url_digest, url, feed_id, access_class, number, at) VALUES (X'1fd46118c2ca8202e1bb8afe14edf830', 'http://docs.test/guarded', 1, 2, 1, 1767225600000000);
INSERT INTO acls (url_digest, url, feed_id, access_class, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'38bc968181be4c3ddbaf0463226ff35c', 'http://docs.test/same', 1, 2, 'src', 1, 'element', 'leaf-node', NULL, '[["permit","user","a/b@c","ext",true,true],["permit","group","Straße ｅｎｇ","Default",false,false],["deny","group","interns","Default",true,false],["permit","user","CORP\\Ann","Default",false,false]]');
INSERT INTO acl_versions (url_digest, url, feed_id, access_class, number, at) VALUES (X'38bc968181be4c3ddbaf0463226ff35c', 'http://docs.test/same', 1, 2, 2, 1767225600000000);
INSERT INTO acls (url_digest, url, feed_id, access_class, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'46bfb79c842e645f5efb1409e3fa6b9f', 'http://docs.test/child', 1, 3, 'src', 1, 'element', 'and-both-permit', 'http://docs.test/parent', '[["deny","user","ext/bob","Default",false,false]]');
INSERT INTO acl_versions (url_digest, url, feed_id, access_class, number, at) VALUES (X'46bfb79c842e645f5efb1409e3fa6b9f', 'http://docs.test/child', 1, 3, 3, 1767225600000000);
INSERT INTO acls (url_digest, url, feed_id, access_class, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'7714b6c833fc5c8ac369d66ccbf8ce1a', 'http://docs.test/parent', 1, 4, 'src', 1, 'element', 'parent-overrides', NULL, '[["permit","user","\ud800 lone","Default",false,false],["permit","group","Soft\u00adHyphen@\u00dcnits","Default",false,false]]');
INSERT INTO acl_versions (url_digest, url, feed_id, access_class, number, at) VALUES (X'7714b6c833fc5c8ac369d66ccbf8ce1a', 'http://docs.test/parent', 1, 4, 4, 1767225600000000);
INSERT INTO acl_versions (url_digest, url, number, access_class, at, feed_id) VALUES (X'5ea03630c17a9b6f40fa57c158ad69fa', 'http://docs.test/removed', 5, 5, 1767225600000000, 1);
INSERT INTO acl_versions (url_digest, url, number, access_class, at, feed_id) VALUES (X'5ea03630c17a9b6f40fa57c158ad69fa', 'http://docs.test/removed', 6, NULL, 1767225660000000, 1);
INSERT INTO access_classes (number, digest, inheritance_type, inherit_from, entries, keys, policy_number) VALUES (2, X'5f1eb557e12fa5271c4345cc5722cbc1', 'leaf-node', NULL, '[["deny","group","interns","Default",true,false],["permit","group","Straße ｅｎｇ","Default",false,false],["permit","user","CORP\\Ann","Default",false,false],["permit","user","a/b@c","ext",true,true]]', X'14e1b7583ac6cddfc9dc2d0897dba7a601d5a83d398123ccb4dedca78f7b7a1b9d0032bb6a326e2bbb118778ac665d67121700ecca88f804015f3c9fd04166792be73b00', 0);
INSERT INTO access_classes (number, digest, inheritance_type, inherit_from, entries, keys, policy_number) VALUES (3, X'f05551c8bf25348730418a63ebb6d1e0', 'and-both-permit', 'http://docs.test/parent', '[["deny","user","ext/bob","Default",false,false]]', X'adb20b8d4d41266c5c0ab40b591574c701', 0);
INSERT INTO access_classes (number, digest, inheritance_type, inherit_from, entries, keys, policy_number) VALUES (4, X'c0376eb4fc401d48118651e773bfc25a', 'parent-overrides', NULL, '[["permit","group","Soft\u00adHyphen@\u00dcnits","Default",false,false],["permit","user","\ud800 lone","Default",false,false]]', X'13d390b7b6f0d33998ff53b4807f85950006cf3098985104f6da47814d43db313500', 0);
INSERT INTO access_classes (number, digest, inheritance_type, inherit_from, entries, keys, policy_number) VALUES (5, X'9bc6a93824edb3570b3ffaa0edcccb6c', 'leaf-node', NULL, '[]', X'', 0);
INSERT INTO policies (number, digest, pattern, name, position, entries) VALUES (3, X'6b983ad76bb94176708e9a1c277ae8b0', 'docs.test/plans/', 'plans', 0, '[["permit","group","auditors","Default",true,false]]');
INSERT INTO policy_versions (number, at, policies) VALUES (1, 1767225600000000, '[[3, "docs.test/plans/", "plans", "[[\"permit\",\"group\",\"auditors\",\"Default\",true,false]]"]]');
INSERT INTO group_sources (name, memberships) VALUES ('people', 1);
INSERT INTO group_snapshots (feed_id, source, is_full, state, memberships, replaced_memberships) VALUES (2, 'people', TRUE, 'visible', 1, 0);
INSERT INTO group_definitions (id, group_digest, namespace, domain, name, feed_id, memberships) VALUES (1, X'88bb6293147c3698c7c0f77d800aebac', 'Default', 'CORP', 'Engineering', 2, 1);
INSERT INTO group_members (definition_id, member_digest) VALUES (1, X'32bb6a326e2bbb118778ac665d671217');
INSERT INTO group_publications (feed_id, source, at) VALUES (2, 'people', 1767225660000000);
INSERT INTO group_names (number, group_digest, namespace, domain, name, feed_id) VALUES (1, X'88bb6293147c3698c7c0f77d800aebac', 'Default', 'CORP', 'Engineering', 2);
INSERT INTO group_changes (member_digest, group_number, feed_id, gained) VALUES (X'', 1, 2, TRUE);
INSERT INTO key_values (name, value) VALUES ('index.folder', '7-1');
INSERT INTO key_values (name, value) VALUES ('groups.generation', '2');
INSERT INTO key_values (name, value) VALUES ('settings.generation', '1');
INSERT INTO key_values (name, value) VALUES ('access.newest_class', '5');
INSERT INTO key_values (name, value) VALUES ('policies.generation', '1');
INSERT INTO stored_settings (section, name, value, version) VALUES ('collections', 'press', '{"include":["docs.test/press/"]}', 1);
INSERT INTO queues (name, begun_at, moved_at, reached, document, reason) VALUES ('index', NULL, 1767225600000000, 0, NULL, 'disk full');
INSERT INTO crawl_sites (id, site, site_digest, urgency, due_at, free_at, retry_at, failures, failed_at, reason, lease_owner, robots_at, lease_expires_at, robots_state, robots) VALUES (1, 'http://docs.test', X'fff55215ab9ba4f165b70a0e4f0e47f0', 1, 1767225600000000, 1767225600000000, 0, 1, 1767225600000000, 'timed out', '', 1767225600000000, NULL, 1, X'416c6c6f773a202f');
INSERT INTO crawl_entries (url_digest, url_start, url_rest, site_id, urgency, priority, due_at, lease_owner, lease_expires_at, is_renewed, pagerank, depth, is_once, referrer, state, added_at, interval_seconds, etag, modified, checksum, changed_at, crawled_at, failures, failed_at, history) VALUES (X'b384e4d31a63041aa7a9635ace67cece', 'http://docs.test/named', '', 1, 1, -90, 1767225600000000, '', NULL, FALSE, 90, 2, TRUE, 'http://docs.test/public', 32, 1767225600000000, 60, '"x"', '', X'73756d', 1767225600000000, 1767225660000000, 1, 1767225720000000, '[[1767225600000000,32,500,17,0.25,"it failed"]]');
INSERT INTO accounts (namespace, account_key, name, domain, role, password_hash, epoch, created_at, changed_at) VALUES ('Default', 'corp\ann', 'Ann', 'CORP', 'viewer', '$argon2id$x', 3, 1767225600000000, 1767225600000001);
INSERT INTO sessions (digest, credentials, created_at, seen_at, expires_at) VALUES (X'73657373696f6e20646967657374', '[{"provider":"local","namespace":"Default","user":["Ann","CORP"],"groups":[],"role":"viewer","epoch":3}]', 1767225600000000, 1767225600000001, 1767225660000000);
INSERT INTO session_digests (digest, session_digest) VALUES (X'18e5b345c352adec6b981f945ac630079900096f26b31d62be3bc1b88eb82875', X'73657373696f6e20646967657374');
INSERT INTO api_tokens (id, digest, label, scopes, namespace, account_key, name, domain, created_at, expires_at, used_at, datasources) VALUES (4, X'746f6b656e20646967657374', 'nightly push', 'push search', 'Default', 'corp\ann', 'Ann', 'CORP', 1767225600000000, NULL, 1767225600000001, 'src');
INSERT INTO one_time_values (digest, value, expires_at) VALUES (X'636f646520646967657374', 'once', 1767225660000000);
INSERT INTO embeddings (document_id, version, model, digest, dimensions, vectors) VALUES (1, 1, 'bge-small', X'7465787420646967657374', 2, X'003c0000');
INSERT INTO embedding_changes (number, document_id) VALUES (1, 1);
INSERT INTO embedding_queue (document_id, queued_at, due_at, attempts) VALUES (2, 1767225600000000, 1767225660000000, 1);
