mod flake;

use flake::{Flake, FlakeSealed};
use std::env::var;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, NoTls};

async fn ids(
    client: &Client,
    sql: &str,
    parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Vec<Flake>, Error> {
    Ok(client.query(sql, parameters).await?.iter().map(|row| row.get(0)).collect())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut config = tokio_postgres::Config::new();
    config
        .host(&var("PGHOST").unwrap())
        .port(var("PGPORT").unwrap().parse().unwrap())
        .user(&var("PGUSER").unwrap())
        .password(&var("PGPASSWORD").unwrap())
        .dbname(&var("PGDATABASE").unwrap());
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            "CREATE EXTENSION flakeid;
             CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[]);
             CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[]);
             CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)",
        )
        .await?;

    // An i64 is refused for a flake, both ways; a cast to bigint helps where the type is not to be used.
    let row = client.query_one("SELECT flake_next(), flake_next()::bigint", &[]).await?;
    assert!(row.try_get::<_, i64>(0).is_err() && row.try_get::<_, i64>(1).is_ok());

    let one: Flake = client
        .query_one("INSERT INTO orders (item) VALUES ($1) RETURNING id", &[&"tea"])
        .await?
        .get(0);
    assert!(one.0 > 1 << 53);
    let new = ids(
        &client,
        "INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 80) AS n RETURNING id",
        &[],
    )
    .await?;
    assert!(new.len() == 80 && new.windows(2).all(|pair| pair[0] < pair[1]));
    let block = ids(&client, "SELECT flake_next_many($1)", &[&50]).await?;
    assert!(block.len() == 50 && block[0] > new[79]);

    // Each type of a parameter; a prepared statement
    for cast in ["", "::bigint", "::flake"] {
        let sql = format!("SELECT id FROM orders WHERE id = $1{cast}");
        assert_eq!(ids(&client, &sql, &[&one]).await?, [one]);
    }
    assert_eq!(ids(&client, "SELECT id FROM orders WHERE id = $1", &[&one.0]).await?, [one]);
    let text = one.0.to_string();
    assert_eq!(ids(&client, "SELECT id FROM orders WHERE id = $1::text::flake", &[&text]).await?, [one]);
    let insert = client.prepare("INSERT INTO orders (id, item) VALUES ($1, $2)").await?;
    assert_eq!(insert.params()[0].name(), "flake");
    assert_eq!(client.execute(&insert, &[&block[0], &"block"]).await?, 1);

    // Arrays, with NULL
    assert_eq!(ids(&client, "SELECT id FROM orders WHERE id = ANY ($1) ORDER BY id", &[&new]).await?, new);
    let odd = vec![Some(Flake((1 << 53) + 1)), None, Some(Flake(i64::MIN)), Some(Flake(i64::MAX))];
    let near: Vec<Option<Flake>> = client
        .query_one("UPDATE orders SET near = $1 WHERE id = $2 RETURNING near", &[&odd, &one])
        .await?
        .get(0);
    assert_eq!(near, odd);

    // Pages by the last id seen
    let (mut seen, mut last) = (Vec::new(), one);
    for _ in 0..8 {
        let page = ids(&client, "SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT 10", &[&last]).await?;
        last = page[9];
        seen.extend(page);
    }
    assert_eq!(seen, new);

    // JSON has strings.
    let json: String =
        client.query_one("SELECT json_build_object('id', id)::text FROM orders WHERE id = $1", &[&one]).await?.get(0);
    assert_eq!(json, format!("{{\"id\" : \"{}\"}}", one.0));

    // COPY BINARY: on the wire a flake is an int8.
    let sink = client.copy_in("COPY orders (id, item) FROM STDIN (FORMAT binary)").await?;
    let writer = BinaryCopyInWriter::new(sink, &[Type::INT8, Type::TEXT]);
    futures_util::pin_mut!(writer);
    for id in &block[1..] {
        writer.as_mut().write(&[id, &"copied"]).await?;
    }
    assert_eq!(writer.finish().await?, 49);
    assert_eq!(ids(&client, "SELECT id FROM orders WHERE item = 'copied' ORDER BY id", &[]).await?, block[1..]);

    // Sealed ids are texts, the same as the server writes.
    let rows = client
        .query("INSERT INTO tickets (item) SELECT 'item ' || n FROM generate_series(1, 50) AS n RETURNING id, id::text", &[])
        .await?;
    let tickets: Vec<FlakeSealed> = rows.iter().map(|row| row.get(0)).collect();
    for (ticket, row) in tickets.iter().zip(&rows) {
        assert_eq!((ticket.0.as_str(), ticket.0.len().to_string()), (row.get(1), var("FLAKEID_DIGITS").unwrap()));
    }
    let reply: FlakeSealed =
        client.query_one("INSERT INTO replies (ticket_id) VALUES ($1) RETURNING ticket_id", &[&tickets[0]]).await?.get(0);
    assert_eq!(reply, tickets[0]);
    let found: Vec<FlakeSealed> =
        client.query_one("SELECT array_agg(id ORDER BY id) FROM tickets WHERE id = ANY ($1)", &[&tickets]).await?.get(0);
    assert_eq!(found, tickets);
    let odd = vec![Some(tickets[1].clone()), None];
    let near: Vec<Option<FlakeSealed>> = client
        .query_one("UPDATE tickets SET near = $1 WHERE id = $2 RETURNING near", &[&odd, &tickets[0]])
        .await?
        .get(0);
    assert_eq!(near, odd);

    // A text that is no sealed id is no row.
    let none = client.query_opt("SELECT item FROM tickets WHERE id = flake_sealed_or_null($1)", &[&"favicon.ico"]).await?;
    assert!(none.is_none());
    assert!(client.query_opt("SELECT item FROM tickets WHERE id = $1", &[&FlakeSealed("favicon.ico".into())]).await.is_err());
    Ok(())
}
