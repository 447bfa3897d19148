"""Runs migrations on the engine that ``migrate`` passes."""

from alembic import context

engine = context.config.attributes["engine"]
with engine.connect() as connection:
    context.configure(connection=connection, render_as_batch=True, transaction_per_migration=False)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
