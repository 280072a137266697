require 'json'
require 'stringio'
require_relative 'flake'

puts "version: ActiveRecord #{ActiveRecord::VERSION::STRING}"
$stderr = warnings = StringIO.new # Rails says here that it does not know a type
at_exit { $stderr = STDERR }

def check(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

Tasks = ActiveRecord::Tasks::DatabaseTasks
Tasks.env = 'test'
Tasks.db_dir = Dir.pwd
Tasks.root = Dir.pwd
database = {
  'adapter' => 'postgresql', 'host' => ENV['PGHOST'], 'port' => ENV['PGPORT'], 'username' => ENV['PGUSER'],
  'password' => ENV['PGPASSWORD'], 'database' => ENV['PGDATABASE'], 'template' => ENV['FLAKEID_TEMPLATE']
}
ActiveRecord::Base.configurations = {
  'test' => database, 'bare' => database.merge('template' => 'template1'), 'checks' => database.merge('database' => 'test_rails')
}
config, bare, checks = %w[test bare checks].map { |env| ActiveRecord::Base.configurations.configs_for(env_name: env).first }
ActiveRecord::Base.establish_connection(config)
ActiveRecord::Migration.verbose = false
ActiveRecord::Migrator.migrations_paths = ['migrate']

class Order < ActiveRecord::Base
  has_many :lines, -> { order(:id) }
end

class Line < ActiveRecord::Base
  belongs_to :order
end

class Ticket < ActiveRecord::Base
  has_many :replies, -> { order(:id) }
end

class Reply < ActiveRecord::Base
  belongs_to :ticket
end

class Invoice < ActiveRecord::Base
end

class Payment < ActiveRecord::Base
  belongs_to :invoice
end

MODELS = [Order, Line, Ticket, Reply, Invoice, Payment].freeze
TABLES = MODELS.map(&:table_name).sort

def shown(what)
  puts "shown: #{ENV['FLAKEID_SCHEMA']} #{what}"
end

def dump
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, out)
  out.string
end

def tables
  ActiveRecord::Base.connection.tables.sort - %w[ar_internal_metadata schema_migrations]
end

# The migrations create, nothing is left to migrate, and the dump of the schema has all that they made.
migrations = ActiveRecord::MigrationContext.new('migrate', ActiveRecord::SchemaMigration)
migrations.migrate
check(migrations.needs_migration?, false)
check(tables, TABLES)
shown 'create'
schema = dump
[
  'enable_extension "flakeid"',
  'create_table "orders", id: :flake, default: -> { "flake_next()" }',
  't.flake "near", array: true',
  't.flake "order_id", null: false',
  'create_table "tickets", id: :flake_sealed, default: -> { "flake_next()" }',
  't.flake_sealed "near", array: true',
  't.flake_sealed "ticket_id", null: false',
  'create_table "invoices", id: :bigint, default: -> { "flake_next()" }'
].each { |line| raise "no #{line} in #{schema}" unless schema.include?(line) }
raise schema if schema.include?('Could not dump')
shown 'second run'

# The whole database goes and comes again, from schema.rb and from structure.sql.
[:ruby, :sql].each do |format|
  file = "#{Dir.pwd}/schema.#{format}"
  if format == :ruby
    File.write(file, schema)
  else
    Tasks.structure_dump(config, file)
    File.write(file, ActiveRecord::Base.connection.dump_schema_information, mode: 'a')
  end
  Tasks.drop(config)
  Tasks.create(format == :ruby ? config : bare) # structure.sql makes the schema of the extension itself
  ActiveRecord::Base.establish_connection(config)
  $stdout = StringIO.new
  Tasks.load_schema(config, format, file)
  $stdout = STDOUT
  ActiveRecord::Base.establish_connection(config)
  check(dump, schema)
end
migrations.rollback(2)
check(tables, [])
migrations.migrate
MODELS.each(&:reset_column_information)
shown 'drop and reload'

# One row, and many in one statement, come back with their ids.
one = Order.create!(item: 'tea')
check(one.id.is_a?(Integer) && one.id > 2**53, true)
check(Order.find(one.id).item, 'tea')
check(Order.find(one.id.to_s).item, 'tea')
ids = Order.insert_all(Array.new(80) { |n| { item: "item #{n}" } }, returning: :id).cast_values
check(ids, ids.sort.uniq)
check(ids.first > one.id, true)
line = Line.create!(order: one)
check(Line.includes(:order).find(line.id).order.item, 'tea')
check(one.lines.map(&:id), [line.id])

# Ids before there are rows
block = Flake.block(50)
Order.insert_all(block.map { |id| { id: id, item: 'block' } })
check(Order.where(item: 'block').order(:id).ids, block)

# Arrays with nil, parameters, aggregates
one.update!(near: [2**53 + 1, nil, -(2**63), 2**63 - 1])
check(Order.find(one.id).near, [2**53 + 1, nil, -(2**63), 2**63 - 1])
check(Order.where(id: ids).count, 80)
check(Order.maximum(:id), block.last)
check(Order.where(id: 1..5).pick(Arel.sql('coalesce(max(id), 0)')), 0)

# Batches, and pages by the last id seen
check(Order.where(item: ids.each_index.map { |n| "item #{n}" }).in_batches(of: 10).flat_map(&:ids), ids)
seen = []
8.times { seen += Order.where('id > ?', seen.last || one.id).order(:id).limit(10).ids }
check(seen, ids)

# JSON of the server has strings; as_json has numbers, so say to_s where JavaScript reads them.
check(JSON.parse(Order.where(id: one.id).pick(Arel.sql("json_build_object('id', id)::text"))), { 'id' => one.id.to_s })
check(one.as_json['id'], one.id)

# Sealed ids are texts, and a text that is none is no row.
ticket = Ticket.create!(item: 'tea')
check(ticket.id.match?(/\A[0-9a-v]{13}\z/), true)
reply = Reply.create!(ticket: ticket)
check(Reply.includes(:ticket).find(reply.id).ticket.item, 'tea')
check(ticket.replies.ids, [reply.id])
sealed = Ticket.insert_all(Array.new(5) { |n| { item: "item #{n}" } }, returning: :id).cast_values
check(Ticket.where(id: sealed).order(:id).ids, sealed)
check(Ticket.where('id > ?', ticket.id).order(:id).ids, sealed)
ticket.update!(near: [sealed[0], nil])
check(Ticket.find(ticket.id).near, [sealed[0], nil])
['favicon.ico', '', '0000000000000'].each do |text|
  Ticket.find_by!('id = flake_sealed_or_null(?)', text)
rescue ActiveRecord::RecordNotFound
  next
else
  raise text
end
check(Ticket.find_by!('id = flake_sealed_or_null(?)', ticket.id), ticket)

# The third kind of key
payment = Payment.create!(invoice: Invoice.create!)
check(payment.id > payment.invoice_id && payment.invoice_id > 2**53, true)

# What tests make for themselves
Tasks.create(checks)
ActiveRecord::Base.establish_connection(checks)
$stdout = StringIO.new
Tasks.load_schema(checks, :ruby, "#{Dir.pwd}/schema.ruby")
$stdout = STDOUT
ActiveRecord::Base.establish_connection(checks)
check(Reply.create!(ticket: Ticket.create!).ticket_id.size, 13)
check(dump, schema)
Tasks.drop(checks)
shown 'test database'

check(warnings.string.lines.grep(/unknown OID/), [])
