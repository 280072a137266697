"""One random schema taken through flakeid.convert() and back, and what must hold then."""
import collections, getpass, json, os, random, re, subprocess, threading, time, psycopg2
from schema import *

OWNER, APP, OTHER = 'sx_owner', 'sx_app', 'sx_other'
SUPER = os.environ.get('PGUSER') or getpass.getuser()
PG_DUMP = os.environ.get('PG_DUMP', 'pg_dump')
DB = 'sx_%d' % os.getpid()

# -- A server --------------------------------------------------------------------------------------
def connect(user, db=DB):
    c = psycopg2.connect(dbname=db, user=user, options='-c client_min_messages=warning -c statement_timeout=120s -c lock_timeout=8s')
    c.autocommit = True
    return c

def rows(c, sql):
    with c.cursor() as cur:
        cur.execute(sql)
        return cur.fetchall() if cur.description else []

def said(e):
    d = getattr(e, 'diag', None)
    if d is None or d.message_primary is None: return str(e).strip()
    return ' | '.join(x for x in (d.sqlstate, d.message_primary, d.message_detail, d.message_hint and 'HINT ' + d.message_hint) if x)

def where(e):  # the server's own statements cast columns to the type that they have
    return said(e) + ''.join(' | ' + re.sub(r'::pg_catalog\.\w+', '', x) for x in (e.diag.context or '').split('\n')[-1:])

def prepare():
    c = connect(SUPER, 'postgres')
    for role in (OWNER, APP, OTHER):
        if not rows(c, "SELECT 1 FROM pg_roles WHERE rolname = '%s'" % role): rows(c, 'CREATE ROLE %s LOGIN' % role)
    Schema.version = int(rows(c, 'SHOW server_version_num')[0][0])
    rows(c, 'GRANT SET ON PARAMETER session_replication_role TO ' + OWNER)
    if not rows(c, "SELECT 1 FROM pg_database WHERE datname = 'sx_template'"):
        rows(c, 'CREATE DATABASE sx_template TEMPLATE template0')
        d = connect(SUPER, 'sx_template')
        for x in ('CREATE EXTENSION flakeid', 'CREATE EXTENSION flakeid_tables', 'GRANT CREATE ON DATABASE sx_template TO ' + OWNER, 'GRANT ALL ON SCHEMA public TO ' + OWNER, 'CREATE FOREIGN DATA WRAPPER sx_fdw', 'CREATE SERVER sx_server FOREIGN DATA WRAPPER sx_fdw', 'GRANT USAGE ON FOREIGN SERVER sx_server TO ' + OWNER):
            rows(d, x)
        d.close()
    c.close()

# -- A trial ---------------------------------------------------------------------------------------
class Stop(Exception): pass

class Trial:
    """One schema, through one road, under all oracles. What fails is in self.found: (oracle, message)."""
    outcome = 'not built'  # the server refuses the schema itself
    why = ''           # it was refused
    def __init__(self, schema):
        self.schema, self.found, self.log, self.skipped, self.road, self.split, self.ended = schema, [], [], [], [], False, ''
        self.admin = connect(SUPER, 'postgres')
        rows(self.admin, 'DROP DATABASE IF EXISTS %s WITH (FORCE)' % DB); rows(self.admin, 'CREATE DATABASE %s TEMPLATE sx_template' % DB)
        rows(self.admin, 'GRANT CREATE ON DATABASE %s TO %s' % (DB, OWNER))
        self.su, self.c = connect(SUPER), connect(OWNER)
        try:
            self.build()
            self.go()
        except Stop: pass
        finally:
            for c in (self.su, self.c): c.close()
            rows(self.admin, 'DROP DATABASE %s WITH (FORCE)' % DB)
            self.admin.close()
    def build(self):
        s, bad = self.schema, set()
        self.pieces = []
        for p in s.pieces:
            if p['needs'] & bad:
                bad.add(p['n']); continue
            try:
                rows(self.c, 'BEGIN')
                if p['n']: rows(self.c, 'SET LOCAL search_path = %s, public' % s.s)
                for x in p['sql']:
                    if x.startswith('SU '):
                        rows(self.c, 'COMMIT'); rows(self.su, x[3:]); rows(self.c, 'BEGIN'); rows(self.c, 'SET LOCAL search_path = %s, public' % s.s)
                    else: rows(self.c, x)
                rows(self.c, 'COMMIT')
                self.pieces.append(p)
            except psycopg2.Error as e:
                rows(self.c, 'ROLLBACK'); bad.add(p['n'])
                self.skipped.append((p['name'], said(e)))
                if p['n'] == 0: raise Stop
        kept = {p['n'] for p in self.pieces}
        self.refs = [x for x in s.refs if x[0] in kept]
        self.tables = [t for p in self.pieces for t in p['tables']]
        # What one call converts: the table and its children, where all have keys of one column that is a number
        keys = rows(self.su, "SELECT format('%%I.%%I', c.relnamespace::regnamespace, c.relname), a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
                             " WHERE i.indisprimary AND i.indnkeyatts = 1 AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) AND (a.atthasdef OR a.attidentity <> '') AND c.relowner = '%s'::regrole AND c.relnamespace::regnamespace::text = $q$%s$q$" % (OWNER, s.s))
        self.listed = [t for t, ref in self.tables if (t, s.raw[1] if t == s.t else 'id') in keys] if s.listed and not s.created_at else []
        if len(self.listed) < 2 or self.listed[0] != s.t: self.listed = []
    def normal(self, message):
        for odd in sorted(self.schema.odd, key=len, reverse=True):
            message = message.replace(odd.replace('"', '""'), self.schema.odd[odd]).replace(odd, self.schema.odd[odd])
        message = re.sub(r'flakeid_(\w+?)_[0-9a-f]{32}', r'flakeid_\1_x', message)
        return re.sub(r'\d+', 'N', message.replace('"', ''))[:260]
    def fail(self, oracle, message, raw=None):
        self.found.append((oracle, self.normal(message)))
        self.log.append('%s: %s' % (oracle, raw or message))
    def dump(self):
        r = subprocess.run([PG_DUMP, '-s', '-U', SUPER, DB], capture_output=True, text=True)
        if r.returncode: self.fail('pg_dump', r.stderr)
        return sorted(x.rstrip(',').strip() for x in r.stdout.splitlines() if x and not x.startswith(('--', 'SET ', 'SELECT pg_catalog.set_config', '\\')))
    def stamp(self):  # changes when anything of the schema was written
        return rows(self.su, """SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM (
            SELECT concat('c', oid, ' ', xmin) FROM pg_class WHERE oid > 16384 UNION ALL SELECT concat('a', attrelid, ' ', attnum, ' ', xmin) FROM pg_attribute WHERE attrelid > 16384
            UNION ALL SELECT concat('k', oid, ' ', xmin) FROM pg_constraint WHERE oid > 16384 UNION ALL SELECT concat('t', oid, ' ', xmin) FROM pg_trigger) s (x)""")[0][0]
    def data(self, ids):
        """Each table's rows by natural key, with what each reference joins to; ids: the keys too."""
        s, out = self.schema, {}
        for t, ref in self.tables:
            refs = [x for x in self.refs if x[1] == t]
            key = [s.k] if t == s.t else ['id'] if t in self.listed else []
            cols = ["j - ARRAY(SELECT k FROM jsonb_object_keys(j) k WHERE k ~ '^(flakeid_|gen_)') - ARRAY[%s]::text[]" % ', '.join("$q$%s$q$" % x.strip('"').replace('""', '"') for x in key + [x[2] for x in refs])]
            for x in refs:
                # The parent of the same tenant and region, where the key has more columns
                more = ' AND p.tenant = c.tenant' if x[3] == s.t and s.shape == 'composite' else ' AND p.region = c.region' if x[3] == s.t and s.shape == 'list' else ''
                cols.append('(SELECT string_agg(p.nat, $$,$$ ORDER BY p.nat) FROM %s p WHERE p.%s::text = c.%s::text%s)' % (x[3], x[4], x[2], more))
                cols.append('c.%s IS NULL' % x[2])
            if ids and key: cols.append('c.%s::text' % key[0])
            try: out[t] = rows(self.su, 'SELECT %s FROM (SELECT *, to_jsonb(x) AS j FROM %s x) c ORDER BY c.nat' % (', '.join(cols), t))
            except psycopg2.Error as e: out[t] = said(e)
        return out
    def compare(self, when, was, now):
        for t in was:
            if was[t] == now.get(t): continue
            if isinstance(now.get(t), str): self.fail(when + ' data', now[t])
            elif len(was[t]) != len(now[t]):
                self.fail(when + ' rows lost', '%s rows of %s became %s' % (len(was[t]), 'the table' if t == self.schema.t else 'a child', len(now[t])))
            else:
                a, b = next((a, b) for a, b in zip(was[t], now[t]) if a != b)
                self.fail(when + ' data changed', '%s: %s' % ('table' if t == self.schema.t else 'child', 'key or reference' if a[0] == b[0] else 'other columns'), '%s: %s became %s' % (t, a, b))
    def probes(self, c):
        out = {}
        for p in self.pieces:
            for own, sql in p['probes']:
                kind, query = (sql.split(': ', 1)) if sql.startswith(('plan: ', 'app: ')) else ('', sql)
                try:
                    rows(c, 'BEGIN')
                    if kind == 'plan':
                        # against no other index of the table, whatever they would cost
                        rows(self.su, "BEGIN; SET LOCAL enable_seqscan = off; UPDATE pg_index AS o SET indisvalid = false FROM pg_index AS i WHERE i.indexrelid = to_regclass($q$%s.%s$q$) AND o.indrelid = i.indrelid AND o.indexrelid <> i.indexrelid" % (self.schema.s, quote(own)))
                        plan = '\n'.join(x[0] for x in rows(self.su, 'EXPLAIN ' + query))
                        used = ' using ' + quote(own) + ' ' in plan or 'Index Scan on %s ' % quote(own) in plan or self.split and 'Seq Scan' not in plan
                        out[p['name'], own, sql] = 'uses the index' if used else 'does not use the index'
                    else:
                        # without the rows that write() made: they have other ids after an undo
                        out[p['name'], own, sql] = repr([[y for y in rows(c, x) if not re.search('(before|stopped|convert|partition|maintain|undo)[on]?d?\\b', str(y))] for x in query.split('; ')])
                except psycopg2.Error as e: out[p['name'], own, sql] = 'ERROR ' + said(e)
                rows(c, 'ROLLBACK')
                if kind == 'plan': rows(self.su, 'ROLLBACK')
        return out
    def compare_probes(self, when, was, now):
        for k in was:
            # Where ids change, so do answers that depend on their values; no column of ids in JSON or arrays can follow.
            if self.renumbers and when.startswith('convert') and not now[k].startswith('ERROR') or self.renumbers and re.match('soft_(jsonb|array)|query', k[0]): continue
            if was[k] != now[k] and not was[k].startswith('ERROR') and was[k] != 'does not use the index':
                name, own, sql = k
                kind = 'plan' if sql.startswith('plan: ') else 'client query' if sql.startswith('app: ') and not '<s>' in sql and name.startswith('query') else 'database object'
                told = any(own in x.replace('""', '"') for x in self.plan)
                self.fail('%s %s%s' % (when, kind, '' if told or kind == 'plan' else ', plan silent'), '%s: %s' % (name, now[k] if kind == 'plan' or now[k].startswith('ERROR') else 'another answer'), '%s: %s: %s became %s' % (name, sql, was[k], now[k]))
    def write(self, c, when, made):
        """INSERT, UPDATE, DELETE in the table and its children. made: ids come by default."""
        s, errors = self.schema, []
        value = {'uuid': 'gen_random_uuid()', 'text': '(1000 + random() * 1e9)::int::text', 'varchar(20)': '(1000 + random() * 1e9)::int::text', 'oid': '(1000 + random() * 1e6)::int::oid'}.get(s.type, '(1000 + random() * 30000)::int')
        nat = when.replace(' ', '_')
        named = s.named and not made
        def do(sql):
            try:
                rows(c, 'BEGIN')
                r = rows(c, sql)
                rows(c, 'COMMIT'); return r
            except psycopg2.Error as e:
                rows(c, 'ROLLBACK')
                if self.is_checked(e): return do(sql)
                errors.append('%s %s: %s' % (sql.split()[0], 'table' if s.t in sql[:len(s.t) + 13] else 'child', where(e)))
        got = do("INSERT INTO %s (%snat) VALUES (%s'%s') RETURNING %s IS NOT NULL" % (s.t, s.k + ', ' if named else '', value + ', ' if named else '', nat, s.k))
        if got is not None and got != [(True,)]: errors.append('INSERT: no id')
        do("UPDATE %s SET qty = qty + 1 WHERE nat = 'n2'" % s.t)
        for x in self.refs:
            if x[1] != s.t and x[3] == s.t and got:
                do("INSERT INTO %s (nat, tenant, region, %s) SELECT 'c%s', tenant, region, %s FROM %s WHERE nat = '%s'" % (x[1], x[2], nat, x[4], x[3], nat))
        do("INSERT INTO %s (%snat) VALUES (%s'%sd') RETURNING 1" % (s.t, s.k + ', ' if named else '', value + ', ' if named else '', nat))
        do("DELETE FROM %s WHERE nat = '%sd'" % (s.t, nat))
        return errors
    def is_checked(self, e):
        """Whether the schema's own CHECK refuses a number that came by default, as it should: the next one is none of those."""
        row = re.fullmatch(r'Failing row contains \((.*)\)\.', e.diag.message_detail or '')
        return 'check_arith' in (e.diag.constraint_name or '') and row and any(x.isdigit() and int(x) % 1000 == 777 for x in row[1].split(', '))
    def writes(self, when, made):
        """Old session first, then a new one."""
        old = self.write(self.c, when + 'o', made)
        new = self.fresh(lambda c: self.write(c, when + 'n', made))
        for e in sorted(set(new) - set(self.writes0)): self.fail('%s writes' % when, e)
        if not new:
            for e in sorted(set(old) - set(self.writes0)): self.fail('%s writes, old session only' % when, e)
    def fresh(self, what):  # in a new session
        c = connect(OWNER)
        try: return what(c)
        finally: c.close()
    def call(self, sql, c=None):
        self.road.append(sql)
        try: rows(c or self.c, sql)
        except psycopg2.Error as e: return e
    def attributes(self, lines):
        """What must be there after convert too: rights, comments, options whole; what has expressions, by its name."""
        out = collections.Counter()
        for x in lines:
            if re.search('flakeid', x) or self.ended and self.ended in x: continue
            if re.match('GRANT|REVOKE|COMMENT|ALTER TABLE (ONLY )?\\S+ (ENABLE|DISABLE|FORCE|REPLICA|CLUSTER|OWNER|ALTER COLUMN .* SET (STORAGE|STATISTICS|COMPRESSION|\\())|ALTER (VIEW|FUNCTION|DEFAULT|PUBLICATION|INDEX|TRIGGER)', x):
                out[x] += 1
            elif re.match('CREATE (UNIQUE )?(INDEX|TRIGGER|POLICY|VIEW|RULE|STATISTICS|MATERIALIZED|CONSTRAINT TRIGGER|PUBLICATION)|ADD CONSTRAINT|CONSTRAINT', x):
                out[re.match(r'(?:[A-Z]+ )+(?:"(?:[^"]|"")*"|[^\s"]+|\.)+', x)[0]] += 1
            for name in re.findall(r' (CONSTRAINT (?:"(?:[^"]|"")*"|[^\s"]+) NOT NULL)', x): out[name] += 1
        return out
    def go(self):
        s, t = self.schema, self.schema.t
        self.renumbers = s.created_at or s.type == 'uuid'
        self.writes0 = self.write(self.c, 'before', False)
        self.before0 = first = self.probes(self.c)
        data0, dump0 = self.data(True), self.dump()
        args = "'%s'" % t.replace("'", "''") + (", '%s'" % s.raw[1].replace("'", "''") if s.shape == 'unique_only' or s.kind in ('numeric', 'domain') or (s.steps % 4 if s.named or s.shape in ('composite', 'range_created', 'list') else s.steps % 2) else '')
        undo_args = args
        if s.created_at: args += ", created_at => 'created'"
        if self.renumbers: args += ", also => '%s'" % json.dumps(self.also()).replace("'", "''")
        if s.as_bigint or s.shape == 'range': args += ", type => 'bigint'"
        kept = not self.renumbers
        convert, plan, undo = 'CALL flakeid.convert(%s)' % args, 'flakeid.convert_plan(%s)' % args, 'CALL flakeid.convert_undo(%s)' % undo_args
        if self.listed:
            tables = 'ARRAY[%s]::regclass[]' % ', '.join("'%s'" % x.replace("'", "''") for x in self.listed)
            more = ", type => 'bigint'" if s.as_bigint or s.shape == 'range' else ''
            convert, plan, undo = 'CALL flakeid.convert_all(%s%s)' % (tables, more), 'flakeid.convert_plan_all(%s%s)' % (tables, more), 'CALL flakeid.convert_undo_all(%s)' % tables
        # The plan
        self.plan = []
        try: self.plan = [x[0] for x in rows(self.c, 'SELECT statement FROM ' + plan)]
        except psycopg2.Error as e:
            self.plan_error = said(e)
            if not self.plan_error.startswith(('55000', '42702')): self.fail('plan fails', self.plan_error)
            self.plan = ['-- refused: ' + self.plan_error]
        refused = [x for x in self.plan if x.startswith('-- refused')]
        for what, name, kind in [('Materialized view', x, 'm') for y in refused for x in re.findall(r'Materialized view (\S+) reads', y)] + [('View', x, 'v') for y in refused for x in re.findall(r'refused: View (\S+?)[, ]', y)]:
            got = name.isascii() and '"' not in name and rows(self.su, 'SELECT relkind FROM pg_class WHERE oid = to_regclass($q$%s$q$)' % name)
            if got and got[0][0] != kind: self.fail('plan names wrongly', '%s is of kind %s' % (what, got[0][0]))
        # The call, perhaps after some steps of one that was killed
        if s.mode == 'stop' and not refused:
            if s.killed or self.listed: self.kill(convert)
            else: self.some_steps(args)
            self.writes('stopped', self.is_made())
            if not (self.renumbers and self.is_made()): self.before0 = self.probes(self.c)  # what was killed may have been done
            data0 = self.data(False)
            if s.undo_stopped:
                self.outcome = 'undone'
                for i in range(2):
                    e = self.call(undo)
                    if e:
                        self.fail('undo of stopped fails', said(e)); raise Stop
                    if not self.is_made(): break
                self.compare('undone when stopped', data0, self.data(False))
                self.same_dump('undone when stopped', dump0)
                raise Stop
            kept = False
        e = self.call(convert)
        if e:
            message = said(e)
            clean = e.diag.sqlstate in ('55000', '42702') and ('cannot convert table' in message or 'cannot tell' in message)
            if s.mode == 'stop' and not refused: self.fail('convert fails after a kill', message)
            dump1 = self.dump()
            changed = dump1 != dump0 and s.mode != 'stop'
            if changed and clean: self.fail('refused after a change', message)
            elif changed: self.fail('raw error after a change', message)
            elif not clean: self.fail('raw error, nothing changed', message)
            elif not refused: self.fail('refused, plan silent', message)
            if changed or s.mode == 'stop' and not refused:
                u = self.call(undo)
                if u: self.fail('undo of a failed call fails', said(u))
                else: self.same_dump('undo of a failed call', dump0)
            self.compare('after failed call', data0 if s.mode != 'stop' else {}, self.data(True))
            self.outcome = 'refused' if clean else 'failed'
            self.why = message
            raise Stop
        self.outcome = 'converted'
        if s.kind.startswith('identity'): self.ended = ' ON SEQUENCE %s.%s ' % (s.s, quote('%s_%s_seq' % s.raw))  # it ends with the identity, and comes back with it
        if refused: self.fail('plan refuses, call goes', refused[0])
        if not self.is_made():
            self.fail('convert takes another column', 'key %s' % s.kind); raise Stop
        data1 = self.data(kept)
        self.compare('convert', data0 if kept or s.mode == 'stop' else {k: [x[:-1] if k == t else x for x in v] for k, v in data0.items()} if not isinstance(data0[t], str) else {}, data1)
        dump1 = self.dump()
        lost = self.attributes(dump0) - self.attributes(dump1)
        for x in list(lost)[:3]: self.fail('convert loses', x)
        now = self.fresh(self.probes)
        self.compare_probes('convert', self.before0, now)
        self.probes(self.c)
        again = self.probes(self.c)  # the second time: what fails once may be a cached plan
        self.compare_probes('convert, old session,', {k: v for k, v in self.before0.items() if now[k] == v and 'lastval' not in k[0]}, again)
        stamp = self.stamp()
        e = self.call(convert)
        if e: self.fail('second convert fails', said(e))
        elif stamp != self.stamp(): self.fail('second convert writes', 'definitions are written again')
        self.writes('convert', True)
        now = self.probes(self.c)
        if not self.renumbers: self.before0 = {k: v if v.startswith('ERROR') or now[k].startswith('ERROR') else now[k] for k, v in self.before0.items()}
        if s.mode == 'partition': return self.partition(undo_args)
        # Undo
        data2 = self.data(False)
        for i in range(2):  # a bigserial with ids of their own time takes two
            e = self.call(undo)
            if e:
                self.fail('undo fails', said(e)); raise Stop
            if not self.is_made(): break
        data3 = self.data(True)
        self.compare('undo', data2, self.data(False))
        old = {x[0]['nat']: x[-1] for x in data0[t]} if kept or not isinstance(data0[t], str) and s.mode != 'stop' else {}
        if not isinstance(data3[t], str):
            for x in data3[t]:
                if x[0]['nat'] in old and old[x[0]['nat']] != x[-1]:
                    self.fail('undo ids', 'an old row has another id than before', '%s: %s became %s' % (x[0], old[x[0]['nat']], x[-1])); break
        self.same_dump('undo', dump0)
        self.compare_probes('undo', {k: v for k, v in self.before0.items() if not first[k].startswith('ERROR')}, self.fresh(self.probes))  # what only ids answer, does not answer any more
        self.writes('undo', False)
        stamp = self.stamp()
        e = self.call(undo)
        if e: self.fail('second undo fails', said(e))
        elif stamp != self.stamp(): self.fail('second undo writes', 'definitions are written again')
    def also(self):
        """Columns that refer to the key without a constraint, as a call names them."""
        found = {}
        for p in self.pieces:
            for own, _ in p['probes'][:1]:
                column = {'soft_column': ('ref_id', None), 'soft_polymorphic': ('what_id', "what = 't'")}.get(p['name'].split('@')[0])
                if column: found['%s.%s.%s' % (self.schema.s, quote(own), column[0])] = column[1]
        return found
    def some_steps(self, args):
        state = '{}'
        for i in range(self.schema.steps):
            try:
                step = "SELECT flakeid.convert_step(%s, undo => false, state => '%s')" % (self.named(args), state.replace("'", "''"))
                r = rows(self.c, step)[0][0]
            except psycopg2.Error: break
            if r is None: break
            state = json.dumps(r)
        self.road.append('-- %s steps of flakeid.convert(%s), then killed' % (self.schema.steps, args))
    def kill(self, call):
        """Ends the session of a call at some moment, while another one writes: what that was told is there, stays."""
        s, told, over = self.schema, [], threading.Event()
        moment = s.killed or s.steps / 8
        victim, writer = connect(OWNER), connect(OWNER)
        pid = rows(victim, 'SELECT pg_backend_pid()')[0][0]
        def write():
            while not over.is_set() and not s.named:
                nat = 'w%d' % len(told)
                try:
                    rows(writer, "INSERT INTO %s (nat) VALUES ('%s')" % (s.t, nat))
                    told.append(nat)
                except psycopg2.Error as e:
                    if s.hard and writer.closed: return
                    if self.is_checked(e): continue
                    if not self.writes0: self.fail('beside writes', where(e))
                    return
        def run():
            try: rows(victim, call)
            except psycopg2.Error: pass
        threads = [threading.Thread(target=x) for x in (write, run)]
        for x in threads: x.start()
        time.sleep(moment)
        if s.hard:
            try: rows(self.admin, "COPY (SELECT) TO PROGRAM 'kill -9 %d'" % pid)
            except psycopg2.Error: pass  # it may have ended before the server gave it what it does not read
            try:
                while True: rows(self.admin, 'SELECT pg_sleep(0.01)')  # until the server has seen it
            except psycopg2.Error: pass
        else: rows(self.admin, 'SELECT pg_terminate_backend(%d)' % pid)
        over.set()
        for x in threads: x.join()
        for c in (victim, writer): c.close()
        if s.hard: self.reconnect()
        self.road.append('-- %s; killed%s after %.2f s' % (call, ' -9' if s.hard else '', moment))
        there = {x[0] for x in rows(self.su, "SELECT nat FROM %s WHERE nat LIKE 'w%%'" % s.t)}
        if set(told) - there: self.fail('rows lost', '%d rows that were written beside it' % len(set(told) - there))
        rows(self.su, "SET session_replication_role = replica"); rows(self.su, "DELETE FROM %s WHERE nat LIKE 'w%%'" % s.t); rows(self.su, "RESET session_replication_role")
    def reconnect(self):
        """Every session ends with a crash, and none begins before the server has recovered."""
        for c in (self.admin, self.su, self.c): c.close()
        until = time.time() + 300
        while True:
            try:
                self.admin = connect(SUPER, 'postgres'); break
            except psycopg2.OperationalError:
                if time.time() > until: raise
                time.sleep(0.1)
        self.su, self.c = connect(SUPER), connect(OWNER)
    def named(self, args):
        v = dict(tab=None, col='NULL', created_at='NULL', type='NULL', node='NULL', also='NULL')
        parts = re.findall(r"(?:(\w+) => )?('(?:[^']|'')*')", args)
        for i, (k, x) in enumerate(parts): v[k or ('tab', 'col')[i]] = x
        return ', '.join('%s => %s' % x for x in v.items())
    def is_made(self):
        return bool(rows(self.su, "SELECT 1 FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = $q$%s$q$::regclass AND a.attname = $q$%s$q$ AND pg_get_expr(adbin, adrelid) LIKE '%%flake_next(%%'" % (self.schema.t, self.schema.raw[1])))
    def same_dump(self, when, dump0):
        dump = self.dump()
        a, b = collections.Counter(dump0), collections.Counter(dump)
        gone, came = sorted((a - b).elements()), sorted((b - a).elements())
        if gone or came:
            pick = lambda l: self.normal(re.sub(r'\s+', ' ', l[0]))[:110] if l else ''
            for g in gone[:4]:
                near = max(came, key=lambda x: len(os.path.commonprefix([x, g])), default='')
                self.fail(when + ' dump', '- %s  + %s' % (pick([g]), pick([near]) if len(os.path.commonprefix([near, g])) > 6 else ''), '- %s\n    + %s' % (g, near))
            if not gone:
                for x in came[:3]: self.fail(when + ' dump', '+ ' + pick([x]), '+ ' + x)
    def parts_cluster(self, line):
        """Whether each partition has the mark of an index that the server does not allow the whole."""
        index = re.fullmatch(re.escape('ALTER TABLE %s CLUSTER ON ' % self.schema.t) + '(.*);', line)
        return index and not rows(self.su, "SELECT FROM pg_inherits h WHERE h.inhparent = $q$%s$q$::regclass AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_inherits p ON p.inhrelid = i.indexrelid"
                                           " WHERE i.indrelid = h.inhrelid AND i.indisclustered AND p.inhparent = $q$%s.%s$q$::regclass)" % (self.schema.t, self.schema.s, index[1]))
    def partition(self, args):
        s = self.schema
        data0, probes0 = self.data(True), self.fresh(self.probes)
        dump0 = self.dump()
        tab = args.split(", '")[0]
        more = ", keep => '90 days', drop_old => true" if s.keep_days else ''
        sql = "CALL flakeid.partition(%s, every => '1 month'%s)" % (tab, more)
        e = self.call(sql)
        if e:
            message = said(e)
            if self.dump() != dump0: self.fail('partition fails after a change', message)
            elif not re.search('cannot become partitioned|is not partitioned by range|cannot tell|has no default', message):
                self.fail('partition raw error', message)
            self.outcome = 'converted, not partitioned'
            raise Stop
        self.outcome, self.split = 'partitioned', True
        for when in ('partition', 'maintain'):
            if when == 'maintain':
                e = self.call('CALL flakeid.maintain()')
                if e: self.fail('maintain fails', said(e))
            self.compare(when, data0, self.data(True))
            self.compare_probes(when, probes0, self.fresh(self.probes))
            lost = self.attributes(dump0) - self.attributes(self.dump())
            for x in list(lost)[:3]:
                if not self.parts_cluster(x): self.fail(when + ' loses', x)
            self.writes(when, True)
            data0, probes0 = self.data(True), self.fresh(self.probes)
        e = self.call(sql)
        if e: self.fail('second partition fails', said(e))
        self.compare('second partition', data0, self.data(True))
