class CreateTickets < ActiveRecord::Migration[6.1]
  def change
    create_table :tickets, id: :flake_sealed do |t|
      t.text :item
      t.flake_sealed :near, array: true
    end
    create_table :replies, id: :flake_sealed do |t|
      t.references :ticket, type: :flake_sealed, null: false, foreign_key: true
    end
    create_table :invoices, id: :bigint, default: -> { 'flake_next()' }
    create_table :payments, id: :bigint, default: -> { 'flake_next()' } do |t|
      t.references :invoice, null: false, foreign_key: true
    end
  end
end
