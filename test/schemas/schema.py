"""A random schema: what a seed stands for."""
import random, re
from features import *

def quote(name):
    return name if re.fullmatch('[a-z_][a-z0-9_]*', name) and name not in ('select', 'order', 'user', 'table') else '"%s"' % name.replace('"', '""')

class Schema:
    """What a seed stands for. plain: without odd names; few: without edge values; keep: the pieces to keep (for shrinking)."""
    version = 0  # of the server: what a newer one has comes after what every one has
    def __init__(self, seed, plain=False, few=False, keep=None):
        r = self.r = random.Random('%s shape' % seed)
        self.names = random.Random('%s names' % seed)
        self.seed, self.plain, self.few, self.odd = seed, plain, few, {}
        self.easy = r.random() < 0.75
        self.mode = r.choices(['undo', 'partition', 'stop'], [6, 3, 3])[0]
        self.pieces = []
        self.s = quote(self.name('app'))
        self.kind, self.type, column, self.named = self.pick(KEYS)[1:]
        own = random.Random('%s 18' % seed)
        if self.version >= 180000 and own.random() < 0.1:
            self.kind, self.type, column, self.named = own.choice(CONSTANTS)[1:]
        self.shape = self.pick(SHAPES)[1]
        self.type, column = self.type.replace('<s>', self.s), column.replace('<s>', self.s)
        self.created_at = r.random() < 0.15 and self.type not in ('text', 'varchar(20)', 'numeric(20)')
        self.as_bigint = r.random() < 0.2
        self.steps = r.randrange(1, 14)
        self.undo_stopped = r.random() < 0.4
        self.killed = r.random() * 1.5 if r.random() < 0.4 else 0
        self.hard = random.Random('%s kill' % seed).random() < 0.5 and self.shape != 'unlogged'  # kill -9, after which an unlogged table is empty
        self.keep_days = r.random() < 0.5
        self.listed = random.Random('%s list' % seed).random() < 0.3  # children with it, by one call
        raw, key = self.name('orders'), self.name('id')
        self.t, self.k, self.raw = '%s.%s' % (self.s, quote(raw)), quote(key), (raw, key)
        self.refs = []
        self.root(column)
        for i in range(r.choice([0, 1, 1, 2, 3])): self.child(i)
        for i in range(r.choice([0, 1, 2, 3, 4, 5, 7])): self.feature(i)
        if self.version >= 180000:
            self.r = own
            for i in range(own.choice([0, 1, 1, 2, 3])): self.feature(18 + i, F18)
        self.all = list(self.pieces)
        if keep is not None: self.pieces = [p for p in self.pieces if p['n'] in keep]
    def pick(self, table):
        table = [x for x in table if not (self.easy and x[1] in REFUSED)]
        return self.r.choices(table, [x[0] for x in table])[0]
    def name(self, base):
        shape = self.names.choice(['%s X', 'q"%s', "%s's", 'Ord%s', '%s.dot', 'ü%s', '%s$1', '%s%%s', '%s' + '_long' * 11, '$flakeid$%s']) if self.names.random() < 0.12 else '%s'
        if self.plain: shape = '%s'
        odd = shape.replace('%%s', '\0').replace('%s', base).replace('\0', '%s')[:60]
        self.odd[odd] = base
        return odd
    def piece(self, name, sql, probes=(), needs=(), tables=()):
        self.pieces.append(dict(n=len(self.pieces), name=name, sql=list(sql), probes=list(probes), needs=set(needs), tables=list(tables)))
        return len(self.pieces) - 1
    def root(self, column):
        r, s, t, k = self.r, self.s, self.t, self.k
        edge = random.Random('%s data' % self.seed)
        pk = {'composite': '(tenant, %s)' % k, 'list': '(region, %s)' % k, 'range_created': '(%s, created)' % k}.get(self.shape, '(%s)' % k)
        key = 'UNIQUE ' + pk if self.shape == 'unique_only' else 'PRIMARY KEY ' + pk
        cols = "%s %s, nat text, tenant int DEFAULT 1 NOT NULL, region text DEFAULT 'a' NOT NULL, created timestamptz DEFAULT now() NOT NULL, qty int DEFAULT 3, note text" % (k, column)
        if r.random() < 0.3:  # the key is not the first column
            cols = 'lead int, ' + cols
        sql = ['SU CREATE SCHEMA %s AUTHORIZATION sx_owner' % s, 'CREATE SEQUENCE %s.free_seq START 100' % s, 'CREATE DOMAIN %s.key_int AS integer CHECK (VALUE <> 99)' % s, 'CREATE FUNCTION %s.my_uuid() RETURNS uuid LANGUAGE sql VOLATILE AS $$ SELECT gen_random_uuid() $$' % s]
        by = {'list': 'LIST (region)', 'hash': 'HASH (%s)' % k, 'range': 'RANGE (%s)' % k, 'range_created': 'RANGE (created)'}.get(self.shape)
        if self.shape == 'typed':
            sql += ['CREATE TYPE %s.typed AS (%s)' % (s, re.sub(r" (DEFAULT|NOT NULL|GENERATED)[^,]*", '', cols).replace(column, self.type)), 'CREATE TABLE %s OF %s.typed (%s)' % (t, s, key)]
        elif self.shape == 'inherited':
            sql += ['CREATE TABLE %s.base (lead0 int)' % s, 'CREATE TABLE %s (%s, %s) INHERITS (%s.base)' % (t, cols, key, s)]
        else:
            sql += ['CREATE %sTABLE %s (%s, %s)%s' % ('UNLOGGED ' if self.shape == 'unlogged' else '', t, cols, key, ' PARTITION BY ' + by if by else '')]
        p = '%s.part' % s
        sql += {'list': ["CREATE TABLE %s1 PARTITION OF %s FOR VALUES IN ('a')" % (p, t), "CREATE TABLE %s2 PARTITION OF %s DEFAULT" % (p, t)], 'hash': ["CREATE TABLE %s%d PARTITION OF %s FOR VALUES WITH (MODULUS 2, REMAINDER %d)" % (p, i, t, i) for i in (0, 1)],
                'range': ["CREATE TABLE %s1 PARTITION OF %s FOR VALUES FROM (MINVALUE) TO ('%s')" % (p, t, '500' if self.type != 'uuid' else '80000000-0000-0000-0000-000000000000'),
                          "CREATE TABLE %s2 PARTITION OF %s FOR VALUES FROM ('%s') TO (MAXVALUE)" % (p, t, '500' if self.type != 'uuid' else '80000000-0000-0000-0000-000000000000')], 'range_created': ["CREATE TABLE %s1 PARTITION OF %s DEFAULT" % (p, t)], 'inherits': ["CREATE TABLE %s_heir (more int) INHERITS (%s)" % (p, t)],
                'temp_index_names': ['CREATE INDEX flakeid_new_x ON %s (%s)' % (t, k)]}.get(self.shape, [])
        values = [] if self.few else [v for v in EDGES.get(self.type, ()) if edge.random() < 0.25]
        if self.type == 'uuid': values = ["'%d0000000-0000-4000-8000-00000000000%d'" % (i, i) for i in range(1, 6)]
        else:
            values = [str(i) for i in (1, 2, 3, 10, 11)] + values
            if self.type in ('text', 'varchar(20)'): values = ["'%s'" % v for v in values]
        if self.shape == 'unique_only' and not self.few: values.append('NULL')
        for i, v in enumerate(values, 1):
            sql.append("INSERT INTO %s (%s, nat, tenant, qty, region, created) OVERRIDING SYSTEM VALUE VALUES (%s, 'n%d', %d, %d, '%s', now() - interval '%d hours')" %
                       (t, k, v, i, 1 + i % 2 if self.shape == 'composite' else 1, i, 'ab'[i % 2], 100 - i))
        self.values = values
        if self.kind in ('smallserial', 'serial', 'bigserial', 'identity', 'identity_big', 'identity_zero'):
            sql.append("SELECT setval(pg_get_serial_sequence('%s', '%s'), 100)" % (t.replace("'", "''"), self.raw[1].replace("'", "''")))
        self.piece('key=%s shape=%s' % (self.kind, self.shape), sql, tables=[(t, None)])
    def child(self, i):
        r, s = self.r, self.s
        t, ref = '%s.%s' % (s, quote(self.name('child%d' % i))), quote(self.name('orders_id'))
        kind = r.choices(['simple', 'cascade', 'deferrable', 'not_valid', 'full', 'wide', 'narrow', 'pk', 'multi', 'partitioned', 'self', 'cycle', 'other_owner', 'domain', 'chain', 'set_default', 'heir', 'two'], [5, 3, 2, 1, 1, 1, 1, 2, 3, 1, 2, 1, 1, 1, 2, 1, 1, 1])[0]
        kind = 'simple' if self.easy and kind in REFUSED else kind
        typ = {'wide': 'bigint', 'narrow': 'integer', 'domain': s + '.key_int'}.get(kind, self.type)
        if self.type in ('uuid', 'text', 'varchar(20)') or 'key_int' in typ and kind != 'domain': typ = self.type
        parent, key = self.t, self.k
        needs = {0}
        both = 'tenant, ' if self.shape == 'composite' else 'region, ' if self.shape == 'list' else ''
        if self.shape == 'range_created': return
        tail = {'cascade': ' ON DELETE CASCADE ON UPDATE CASCADE', 'deferrable': ' DEFERRABLE INITIALLY DEFERRED', 'full': ' MATCH FULL', 'set_default': ' ON DELETE SET DEFAULT', 'simple': r.choice(['', ' ON DELETE SET NULL', ' ON DELETE RESTRICT'])}.get(kind, '')
        fk = 'FOREIGN KEY (%s%s) REFERENCES %s (%s%s)%s' % (both, ref, parent, both, key, tail)
        if kind == 'self':
            col = quote(self.name('parent_id'))
            sql = ['ALTER TABLE %s ADD COLUMN %s %s' % (parent, col, self.type), "UPDATE %s SET %s = %s WHERE nat > 'n1'" % (parent, col, key),
                   'ALTER TABLE %s ADD FOREIGN KEY (%s%s) REFERENCES %s (%s%s)%s' % (parent, both, col, parent, both, key, r.choice(['', ' ON DELETE SET NULL' if not both else '', ' DEFERRABLE INITIALLY DEFERRED']))]
            n = self.piece('self', sql, needs=needs)
            self.refs.append((n, parent, col, parent, key))
            return
        if kind == 'chain':  # refers to a child whose key is the reference
            prior = [x for x in self.refs if x[5:] == ('pk',)]
            if prior:
                needs, parent, key = {0, prior[0][0]}, prior[0][1], prior[0][2]
                fk = 'FOREIGN KEY (%s) REFERENCES %s (%s)' % (ref, parent, key)
                both = ''
        if kind == 'multi' and not both:
            both = 'tenant, '
            fk = 'CONSTRAINT multi%d FOREIGN KEY (tenant, %s) REFERENCES %s (tenant, %s)%s' % (i, ref, parent, key, r.choice([' ON DELETE SET NULL (%s)' % ref, '']))
        sql = ['ALTER TABLE %s ADD CONSTRAINT pair%d UNIQUE (tenant, %s)' % (parent, i, key)] if kind == 'multi' and self.shape != 'composite' else []
        own = r.choice(['bigserial', 'serial', 'uuid DEFAULT gen_random_uuid()'])
        pk = 'id %s' % own + ('' if kind in ('pk', 'partitioned') else ' PRIMARY KEY')
        extra = ', PRIMARY KEY (%s)' % ref if kind == 'pk' else ''
        part = " PARTITION BY HASH (nat)" if kind == 'partitioned' else ''
        deflt = ' DEFAULT %s' % self.values[0] if kind == 'set_default' else ''
        sql += ["CREATE TABLE %s (%s, nat text, tenant int DEFAULT 1, region text DEFAULT 'a', %s %s%s%s%s)%s" % (t, pk, ref, typ, deflt, extra, '' if kind == 'not_valid' else ', ' + fk, part)]
        if part: sql += ["CREATE TABLE %s.cp%d_%d PARTITION OF %s FOR VALUES WITH (MODULUS 2, REMAINDER %d)" % (s, i, j, t, j) for j in (0, 1)]
        sql += ["INSERT INTO %s (nat, tenant, region, %s) SELECT 'c' || p.nat, p.tenant, p.region, p.%s FROM %s p WHERE p.%s IS NOT NULL AND p.nat <= 'n4'" % (t, ref, key, parent, key) if parent == self.t else
                "INSERT INTO %s (nat, %s) SELECT 'c' || p.nat, p.%s FROM %s p" % (t, ref, key, parent)]
        if kind != 'pk' and not both: sql += ["INSERT INTO %s (nat, %s) VALUES ('cnull', NULL)" % (t, ref)]
        if kind == 'not_valid': sql += ['ALTER TABLE %s ADD %s NOT VALID' % (t, fk)]
        if kind == 'two': sql += ['ALTER TABLE %s ADD CONSTRAINT second%d %s' % (t, i, fk)]
        if kind == 'cycle':
            sql += ['ALTER TABLE %s ADD COLUMN fav%d %s' % (self.t, i, {'bigserial': 'bigint', 'serial': 'integer'}.get(own, 'uuid')), 'ALTER TABLE %s ADD FOREIGN KEY (fav%d) REFERENCES %s' % (self.t, i, t)]
        if kind == 'heir': sql += ['CREATE TABLE %s.heir%d (FOREIGN KEY (%s) REFERENCES %s (%s)) INHERITS (%s)' % (s, i, ref, parent, key, t)]
        if r.random() < 0.5: sql += ['CREATE INDEX ON %s (%s)' % (t, ref)]
        if kind == 'other_owner': sql += ['SU ALTER TABLE %s OWNER TO sx_other' % t, 'SU GRANT ALL ON %s TO sx_owner' % t]
        n = self.piece('child=' + kind, sql, needs=needs, tables=[(t, ref)])
        self.refs.append((n, t, ref, parent, key, kind))
    def feature(self, i, table=F):
        _, name, sql, probes = self.pick(table)
        on = [x for x in self.refs if len(x) > 5]
        c = on[0] if on else None
        needs = {0}
        if any('<c>' in x for x in sql):
            if not c: return
            needs.add(c[0])
        t, k, ty = self.t, self.k, self.type
        if on and self.r.random() < 0.25 and not name.startswith(('query', 'function', 'default_else', 'sequence', 'generated')):
            x = self.r.choice(on)  # on the referring column instead
            t, k = x[1], x[2]
            needs.add(x[0])
            name += '@child'
            sql = [re.sub(r', qty|, region', '', x).replace('(qty', '(tenant') for x in sql]
        own = self.name('%s_%d' % (re.sub('@.*', '', name), i))
        seq = "%s.free_seq" % self.s
        if self.kind in ('smallserial', 'serial', 'bigserial') or self.kind.startswith('identity'):
            seq = '%s.%s' % (self.s, quote(self.raw[0] + '_' + self.raw[1] + '_seq')) if self.raw == ('orders', 'id') else seq
        def fill(x):
            x = re.sub('<x>(_[a-z]+)', lambda m: quote(own + m[1]), x)
            for a, b in (('t', t), ('k', k), ('x', quote(own)), ('s', self.s), ('ty', ty), ('seq', seq), ('i', str(i))) + ((('c', c[1]), ('r', c[2])) if c else ()):
                x = x.replace('<%s>' % a, b)
            return x
        self.piece(name, [fill(x) for x in sql], [(own, fill(x)) for x in probes], needs)
