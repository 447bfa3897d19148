-- A store of revision 0002: its schema on SQLite, then its rows.
CREATE TABLE acls (
	url_digest BLOB NOT NULL,
	url TEXT NOT NULL,
	datasource TEXT NOT NULL,
	feed_id BIGINT NOT NULL,
	seen_feed_id BIGINT NOT NULL,
	origin TEXT NOT NULL,
	inheritance_type TEXT NOT NULL,
	inherit_from TEXT,
	entries TEXT NOT NULL,
	CONSTRAINT pk_acls PRIMARY KEY (url_digest)
);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE datasources (
	name TEXT NOT NULL,
	kind TEXT NOT NULL,
	CONSTRAINT pk_datasources PRIMARY KEY (name)
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
	events INTEGER NOT NULL,
	CONSTRAINT uq_documents_url_digest UNIQUE (url_digest)
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
CREATE TABLE facts (
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	CONSTRAINT pk_facts PRIMARY KEY (name)
);
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
	claimed_by TEXT,
	claimed_until BIGINT
, queue TEXT DEFAULT '' NOT NULL);
CREATE TABLE group_definitions (
	id INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	group_digest BLOB NOT NULL,
	namespace TEXT NOT NULL,
	domain TEXT NOT NULL,
	name TEXT NOT NULL,
	memberships BIGINT NOT NULL,
	CONSTRAINT pk_group_definitions PRIMARY KEY (id)
);
CREATE TABLE group_layers (
	feed_id INTEGER NOT NULL,
	source TEXT NOT NULL,
	whole BOOLEAN NOT NULL,
	state TEXT NOT NULL,
	memberships BIGINT NOT NULL,
	replaced BIGINT NOT NULL,
	CONSTRAINT pk_group_layers PRIMARY KEY (feed_id)
);
CREATE TABLE group_members (
	definition_id INTEGER NOT NULL,
	member_digest BLOB NOT NULL,
	CONSTRAINT pk_group_members PRIMARY KEY (definition_id, member_digest)
)
 WITHOUT ROWID;
CREATE TABLE group_sources (
	name TEXT NOT NULL,
	memberships BIGINT NOT NULL,
	CONSTRAINT pk_group_sources PRIMARY KEY (name)
);
CREATE TABLE marks (
	document_id INTEGER NOT NULL,
	version BIGINT NOT NULL,
	stage TEXT NOT NULL,
	lane INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	datasource TEXT NOT NULL,
	tightens BOOLEAN NOT NULL,
	CONSTRAINT pk_marks PRIMARY KEY (document_id)
);
CREATE TABLE overtaken_marks (
	document_id INTEGER NOT NULL,
	feed_id BIGINT NOT NULL,
	tightens BOOLEAN NOT NULL,
	CONSTRAINT pk_overtaken_marks PRIMARY KEY (document_id, feed_id)
);
CREATE INDEX ix_acls_datasource ON acls (datasource);
CREATE INDEX ix_documents_eviction ON documents (locked, rank, updated_at) WHERE state = 'live';
CREATE INDEX ix_documents_live ON documents (datasource, id) WHERE state = 'live';
CREATE INDEX ix_feeds_datasource_id ON feeds (datasource, id);
CREATE INDEX ix_feeds_unapplied ON feeds (id) WHERE phase IN ('scan', 'apply', 'sweep');
CREATE INDEX ix_feeds_unsettled ON feeds (id) WHERE phase IN ('settle', 'done') AND searchable_at IS NULL;
CREATE INDEX ix_group_definitions_feed_id ON group_definitions (feed_id);
CREATE UNIQUE INDEX ix_group_definitions_group ON group_definitions (group_digest, feed_id);
CREATE INDEX ix_group_layers_source_state ON group_layers (source, state);
CREATE INDEX ix_group_members_member_digest_definition_id ON group_members (member_digest, definition_id);
CREATE INDEX ix_marks_feed_id ON marks (feed_id);
CREATE INDEX ix_marks_stage_lane_feed_id_document_id ON marks (stage, lane, feed_id, document_id);
CREATE INDEX ix_overtaken_marks_feed_id ON overtaken_marks (feed_id);
INSERT INTO alembic_version (version_num) VALUES ('0002');
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, repaired_file, queue, state, phase, finished_at, searchable_at, records, applied, included, errors, acls, logged) VALUES ('192.0.2.1', 100, 1767225600000000, 1, 'src', 'full', 'f1', 'f1.repaired', 'src', 'completed', 'done', 1767225660000000, 1767225720000000, 8, 8, 7, 1, 1, 1);
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, queue, state, phase, finished_at, searchable_at, records) VALUES ('192.0.2.1', 100, 1767225600000000, 2, 'people', 'groups-full', 'f2', '/xmlgroups', 'completed', 'done', 1767225660000000, 1767225720000000, 1);
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, state, phase, queue) VALUES ('192.0.2.1', 100, 1767225600000000, 3, 'src', 'incremental', 'f3', 'received', 'scan', 'src');
INSERT INTO feeds (client, size_bytes, received_at, id, datasource, kind, file, queue, state, phase, finished_at, searchable_at) VALUES ('192.0.2.1', 100, 1767225600000000, 4, 'old', 'delete', '', 'old', 'completed', 'done', 1767225660000000, 1767225720000000);
INSERT INTO feed_log (feed_id, number, level, record, line, url, reason) VALUES (1, 0, 'error', 8, 90, 'http://docs.test/gone', 'no such action');
INSERT INTO datasources (name, kind) VALUES ('src', 'content');
INSERT INTO datasources (name, kind) VALUES ('web', 'web');
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (1, X'02435b8ae978c17efb483113463dc6ed', 'http://docs.test/public', 'live', 'content', 'src', 1, 1, 1, FALSE, FALSE, 90, '{"display_url":"http://shown.test/","mimetype":"text/html","last_modified":1767225600000000,"authmethod":"none","pagerank":90}', '[["author","Ann"],["Author","O''Hara"]]', 'b1', 17, 'utf-8', '{"source":"b1","blob":"b2","title":"Öffentlich","language":"de","metadata":[["robots","noarchive"]],"robots":["noarchive"]}', 1767225660000000, 2);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (2, X'1fd46118c2ca8202e1bb8afe14edf830', 'http://docs.test/guarded', 'live', 'content', 'src', 2, 1, 1, TRUE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225720000000, 0);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (3, X'46bfb79c842e645f5efb1409e3fa6b9f', 'http://docs.test/child', 'live', 'content', 'src', 3, 1, 1, TRUE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225780000000, 0);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (4, X'32cf051d0a0f2cb626ea40dc6183bf04', 'http://docs.test/gone', 'gone', 'content', 'src', 4, 1, 1, FALSE, FALSE, 96, '{}', '[]', NULL, 0, NULL, NULL, 1767225840000000, 0);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (5, X'f47a7adba494ef20b31841efc6b1be38', 'http://docs.test/closed', 'live', 'content', 'src', 5, 1, 1, TRUE, FALSE, 96, '{"authmethod":"ntlm"}', '[]', NULL, 0, NULL, NULL, 1767225900000000, 0);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (6, X'38bc968181be4c3ddbaf0463226ff35c', 'http://docs.test/same', 'live', 'content', 'src', 6, 1, 1, TRUE, TRUE, 96, '{"lock":true}', '[]', NULL, 0, NULL, NULL, 1767225960000000, 0);
INSERT INTO documents (id, url_digest, url, state, origin, datasource, version, feed_id, seen_feed_id, secure, locked, rank, attributes, metadata, content, content_bytes, charset, text, updated_at, events) VALUES (7, X'b384e4d31a63041aa7a9635ace67cece', 'http://docs.test/named', 'live', 'web', 'web', 7, 1, 1, FALSE, FALSE, 96, '{"crawl_immediately":true,"crawl_once":true}', '[]', NULL, 0, NULL, NULL, 1767226020000000, 0);
INSERT INTO events (document_id, slot, number, at, kind, feed_id, line, detail) VALUES (1, 0, 0, 1767225600000000, 'fed', 1, 7, 'by hand');
INSERT INTO events (document_id, slot, number, at, kind, feed_id, line, detail) VALUES (1, 1, 1, 1767225600000001, 'metadata fed', 1, 7, 'by hand');
INSERT INTO marks (document_id, version, stage, lane, tightens, feed_id, datasource) VALUES (1, 1, 'extract', 0, FALSE, 1, 'src');
INSERT INTO marks (document_id, version, stage, lane, tightens, feed_id, datasource) VALUES (2, 2, 'index', 1, TRUE, 1, 'src');
INSERT INTO overtaken_marks (document_id, feed_id, tightens) VALUES (2, 3, FALSE);
INSERT INTO acls (url_digest, url, feed_id, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'1fd46118c2ca8202e1bb8afe14edf830', 'http://docs.test/guarded', 1, 'src', 1, 'element', 'leaf-node', NULL, '[["permit","user","CORP\\Ann","Default",false,false],["deny","group","interns","Default",true,false],["permit","user","  ","Default",true,false],["permit","user","CORP\\Ann","Default",false,false],["permit","group","Straße ｅｎｇ","Default",false,false],["permit","user","a/b@c","ext",true,true]]');
INSERT INTO acls (url_digest, url, feed_id, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'38bc968181be4c3ddbaf0463226ff35c', 'http://docs.test/same', 1, 'src', 1, 'element', 'leaf-node', NULL, '[["permit","user","a/b@c","ext",true,true],["permit","group","Straße ｅｎｇ","Default",false,false],["deny","group","interns","Default",true,false],["permit","user","CORP\\Ann","Default",false,false]]');
INSERT INTO acls (url_digest, url, feed_id, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'46bfb79c842e645f5efb1409e3fa6b9f', 'http://docs.test/child', 1, 'src', 1, 'element', 'and-both-permit', 'http://docs.test/parent', '[["deny","user","ext/bob","Default",false,false]]');
INSERT INTO acls (url_digest, url, feed_id, datasource, seen_feed_id, origin, inheritance_type, inherit_from, entries) VALUES (X'7714b6c833fc5c8ac369d66ccbf8ce1a', 'http://docs.test/parent', 1, 'src', 1, 'element', 'parent-overrides', NULL, '[["permit","user","\ud800 lone","Default",false,false],["permit","group","Soft\u00adHyphen@\u00dcnits","Default",false,false]]');
INSERT INTO group_sources (name, memberships) VALUES ('people', 1);
INSERT INTO group_layers (feed_id, source, whole, state, memberships, replaced) VALUES (2, 'people', TRUE, 'visible', 1, 0);
INSERT INTO group_definitions (id, group_digest, namespace, domain, name, feed_id, memberships) VALUES (1, X'88bb6293147c3698c7c0f77d800aebac', 'Default', 'CORP', 'Engineering', 2, 1);
INSERT INTO group_members (definition_id, member_digest) VALUES (1, X'32bb6a326e2bbb118778ac665d671217');
INSERT INTO facts (name, value) VALUES ('index.folder', '7-1');
INSERT INTO facts (name, value) VALUES ('groups.generation', '2');
