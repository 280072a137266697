class CreateOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :flake do |t|
      t.text :item
      t.flake :near, array: true
    end
    create_table :lines, id: :flake do |t|
      t.references :order, type: :flake, null: false, foreign_key: true
    end
  end
end
