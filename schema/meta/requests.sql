-- Requests and latencies of each stream in a run. Key: run_id, stream.
CREATE TABLE requests (
    run_id              VARCHAR NOT NULL, -- field 1, references runs.run_id
    stream              VARCHAR NOT NULL, -- field 2
    requests            BIGINT,           -- field 3
    bytes               BIGINT,           -- field 4
    retries             BIGINT,           -- field 5
    rate_limited        BIGINT,           -- field 6
    latency_p50_ms      DECIMAL(18,6),    -- field 7
    latency_p95_ms      DECIMAL(18,6),    -- field 8
    latency_max_ms      DECIMAL(18,6),    -- field 9
    rate_wait_seconds   DECIMAL(18,6),    -- field 10
    retry_after_seconds DECIMAL(18,6),    -- field 11
    rate_used           DECIMAL(18,6),    -- field 12
    landed              BIGINT            -- field 13
);

COMMENT ON TABLE requests IS 'Requests of each stream in a run: counts, latencies, and how the rate limit was used.';
COMMENT ON COLUMN requests.run_id IS 'Run that the row describes: runs.run_id.';
COMMENT ON COLUMN requests.stream IS 'Name of the stream.';
COMMENT ON COLUMN requests.requests IS 'Requests sent, retries included.';
COMMENT ON COLUMN requests.bytes IS 'Bytes of responses received, counted on the wire.';
COMMENT ON COLUMN requests.retries IS 'Repeated requests after a failure.';
COMMENT ON COLUMN requests.rate_limited IS 'Responses with status 429.';
COMMENT ON COLUMN requests.latency_p50_ms IS 'Median time to a complete response, in milliseconds.';
COMMENT ON COLUMN requests.latency_p95_ms IS '95th percentile of the time to a complete response, in milliseconds.';
COMMENT ON COLUMN requests.latency_max_ms IS 'Longest time to a complete response, in milliseconds.';
COMMENT ON COLUMN requests.rate_wait_seconds IS 'Time that workers waited for the rate limiter, summed over workers, in seconds.';
COMMENT ON COLUMN requests.retry_after_seconds IS 'Time that the service asked the program to pause (Retry-After), in seconds.';
COMMENT ON COLUMN requests.rate_used IS 'Share of the allowed request rate that was used, from 0 to 1; NULL without a limit.';
COMMENT ON COLUMN requests.landed IS 'Stored responses of an interrupted run that were used again.';
