# Types flake and flake_sealed in Sequel, an Integer and a String: a database extension, DB.extension(:flake) or require_relative and Sequel::Flake.load(DB).
require 'sequel'

module Sequel
  module Flake
    def self.load(db)
      db.extension :pg_array
      { 'flake' => ->(text) { Integer(text, 10) }, 'flake_sealed' => ->(text) { text } }.each do |name, read|
        types = db.fetch("SELECT to_regtype('#{name}')::oid AS oid, to_regtype('#{name}[]')::oid AS array_oid").first
        return unless types[:oid] # before the migration that creates the extension; load it again after that

        db.add_conversion_proc(types[:oid], &read)
        db.register_array_type(name, oid: types[:array_oid], scalar_oid: types[:oid])
      end
      db.extend Schema
    end

    module Schema
      TYPES = { 'flake' => :integer, 'flake_sealed' => :string }.freeze

      # The schema dumper asks this: else both would become a String.
      def schema_column_type(type)
        TYPES.fetch(type) { super }
      end

      def column_schema_to_ruby_type(schema)
        TYPES.key?(schema[:db_type]) ? { type: schema[:db_type] } : super
      end
    end

    # The ids of n rows that do not exist yet
    def self.block(db, n)
      db.select(Sequel.function(:flake_next_many, n).as(:id)).map(:id)
    end
  end
end
