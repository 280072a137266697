require_relative 'flake'
require 'json'

puts "version: Sequel #{Sequel.version}"

def check(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

db = Sequel.connect(ENV['DATABASE_URL'])
Sequel.extension :migration
db.extension :schema_dumper
migration = Sequel.migration do
  up do
    run 'CREATE EXTENSION IF NOT EXISTS flakeid'
    create_table(:orders) do
      column :id, 'flake', primary_key: true, default: Sequel.function(:flake_next)
      String :item
      column :near, 'flake[]'
    end
    create_table(:lines) do
      column :id, 'flake', primary_key: true, default: Sequel.function(:flake_next)
      foreign_key :order_id, :orders, type: 'flake', null: false
    end
    create_table(:tickets) do
      column :id, 'flake_sealed', primary_key: true, default: Sequel.function(:flake_next)
      String :item
      column :near, 'flake_sealed[]'
    end
    create_table(:replies) do
      column :id, 'flake_sealed', primary_key: true, default: Sequel.function(:flake_next)
      foreign_key :ticket_id, :tickets, type: 'flake_sealed', null: false
    end
    create_table(:invoices) do
      column :id, :bigint, primary_key: true, default: Sequel.function(:flake_next)
    end
    create_table(:payments) do
      column :id, :bigint, primary_key: true, default: Sequel.function(:flake_next)
      foreign_key :invoice_id, :invoices, type: :bigint, null: false
    end
  end
  down do
    drop_table :payments, :invoices, :replies, :tickets, :lines, :orders
    run 'DROP EXTENSION flakeid'
  end
end

def shown(what)
  puts "shown: #{ENV['FLAKEID_SCHEMA']} #{what}"
end

# Everything comes, goes and comes again.
tables = %i[invoices lines orders payments replies tickets]
migration.apply(db, :up)
check(db.tables.sort, tables)
shown 'create'

# The dump of the schema makes the same schema.
Sequel::Flake.load(db)
dump = db.dump_schema_migration(same_db: true)
db.drop_table(:payments, :invoices, :replies, :tickets, :lines, :orders)
eval(dump).apply(db, :up) # rubocop:disable Security/Eval
check(db.dump_schema_migration(same_db: true), dump)
shown 'second run'
migration.apply(db, :down)
check(db.tables, [])
db.run 'CREATE EXTENSION flakeid SCHEMA extensions' if ENV['FLAKEID_SCHEMA'] == 'own'
migration.apply(db, :up)
db.run 'DROP SCHEMA public CASCADE'
db.run 'CREATE SCHEMA public'
migration.apply(db, :up)
check(db.tables.sort, tables)
Sequel::Flake.load(db)
check(db.dump_schema_migration(same_db: true), dump)
shown 'drop and reload'
check(db.schema(:lines).map { |name, column| [name, column[:db_type]] }, [[:id, 'flake'], [:order_id, 'flake']])
check(db.schema(:replies).map { |name, column| [name, column[:db_type]] }, [[:id, 'flake_sealed'], [:ticket_id, 'flake_sealed']])
check(db.schema(:orders).to_h[:id][:default], 'flake_next()')

orders = db[:orders]
one = orders.insert(item: 'tea')
check(one.is_a?(Integer) && one > 2**53, true)
check(orders.first(id: one)[:item], 'tea')
check(orders.first(id: Sequel.cast(one.to_s, :flake))[:item], 'tea')
ids = orders.multi_insert(Array.new(80) { |n| { item: "item #{n}" } }, return: :primary_key)
check(ids, ids.sort.uniq)
check(ids.size, 80)

# Ids before there are rows
block = Sequel::Flake.block(db, 50)
orders.import(%i[id item], block.map { |id| [id, 'block'] })
check(orders.where(item: 'block').order(:id).select_map(:id), block)

# Models
Order = Class.new(Sequel::Model(orders)) { one_to_many :lines, class: :Line, key: :order_id }
Line = Class.new(Sequel::Model(:lines)) { many_to_one :order, class: :Order }
line = Line.create(order: Order[one])
check(Line[line.id].order.item, 'tea')
check(Order.create(item: 'model').id > block.last, true)

# Arrays with nil, aggregates, pages by the last id seen
odd = [2**53 + 1, nil, -(2**63), 2**63 - 1]
orders.where(id: one).update(near: Sequel.pg_array(odd, :flake))
check(orders.where(id: one).get(:near), odd)
check(orders.where(id: ids).count, 80)
check(orders.where(id: Sequel.function(:any, Sequel.pg_array(ids, :bigint))).count, 80)
check(orders.where(item: 'block').max(:id), block.last)
check(orders.where { id < 5 }.get(Sequel.function(:coalesce, Sequel.function(:max, :id), 0)), 0)
seen = []
8.times { seen += orders.where(item: ids.each_index.map { |n| "item #{n}" }).where { |o| o.id > (seen.last || one) }.order(:id).limit(10).select_map(:id) }
check(seen, ids)

# Prepared statements, JSON, COPY
by_id = orders.where(id: :$id).prepare(:first, :by_id)
10.times { check(by_id.call(id: one)[:item], 'tea') }
check(JSON.parse(orders.where(id: one).get(Sequel.lit("json_build_object('id', id)::text"))), { 'id' => one.to_s })
more = Sequel::Flake.block(db, 3)
db.copy_into(:orders, columns: %i[id item], data: more.map { |id| "#{id}\tcopied\n" })
check(orders.where(item: 'copied').order(:id).select_map(:id), more)

# Sealed ids are texts, and a text that is none is no row.
tickets = db[:tickets]
sealed = tickets.multi_insert([{ item: 'tea' }, { item: 'pen' }], return: :primary_key)
check(sealed.map(&:size), [13, 13])
db[:replies].insert(ticket_id: sealed[0])
check(db[:replies].get(:ticket_id), sealed[0])
check(tickets.where(id: sealed).order(:id).select_map(:id), sealed)
tickets.where(id: sealed[0]).update(near: Sequel.pg_array([sealed[1], nil], :flake_sealed))
check(tickets.where(id: sealed[0]).get(:near), [sealed[1], nil])
find = ->(text) { tickets.first(id: Sequel.function(:flake_sealed_or_null, text)) }
check(find.call(sealed[1])[:item], 'pen')
['favicon.ico', '', '0000000000000'].each { |text| check(find.call(text), nil) }
invoice = db[:invoices].insert
check(db[:payments].insert(invoice_id: invoice) > invoice, true)

# What tests make for themselves
db.run "CREATE DATABASE test_sequel TEMPLATE #{ENV['FLAKEID_TEMPLATE']}"
other = Sequel.connect(ENV['DATABASE_URL'].sub(%r{[^/]*\z}, 'test_sequel'))
other.extension :schema_dumper
migration.apply(other, :up)
Sequel::Flake.load(other)
other[:replies].insert(ticket_id: other[:tickets].insert(item: 'tea'))
other.disconnect
db.run 'DROP DATABASE test_sequel'
shown 'test database'
