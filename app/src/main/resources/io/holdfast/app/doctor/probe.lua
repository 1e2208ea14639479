#!lua flags=no-writes,allow-stale
-- Says what time it is on the server.
-- KEYS  probe
-- ARGV
-- REPLY seconds micros
local now = redis.call('TIME')
return {tonumber(now[1]), tonumber(now[2])}
