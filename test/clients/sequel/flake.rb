# Type flake in Sequel: a database extension, DB.extension(:flake) or require_relative and Sequel::Flake.load(DB).
require 'sequel'

module Sequel
  module Flake
    def self.load(db)
      types = db.fetch("SELECT to_regtype('flake')::oid AS oid, to_regtype('flake[]')::oid AS array_oid").first
      db.extension :pg_array
      return unless types[:oid] # before the migration that creates the extension; load it again after that

      db.add_conversion_proc(types[:oid]) { |text| Integer(text, 10) }
      db.register_array_type('flake', oid: types[:array_oid], scalar_oid: types[:oid])
      db.extend Schema
    end

    module Schema
      # The schema dumper asks this: else a flake would become a String.
      def schema_column_type(type)
        type == 'flake' ? :integer : super
      end

      def column_schema_to_ruby_type(schema)
        schema[:db_type] == 'flake' ? { type: 'flake' } : super
      end
    end

    # The ids of n rows that do not exist yet
    def self.block(db, n)
      db.select(Sequel.function(:flake_next_many, n).as(:id)).map(:id)
    end
  end
end
