-- "settlements_client_idx" does its work. A statement alone, so that it stops no writer.
DROP INDEX CONCURRENTLY "settlements_client_id_created_at_idx";
