#!lua
-- Reads the log of an owner's cycles, after setting it if it still was what the caller had read.
-- KEYS  log
-- ARGV  change expected next
-- REPLY set log
local log = redis.call('GET', KEYS[1]) or ''
if ARGV[1] == 'yes' and log == ARGV[2] then
    redis.call('SET', KEYS[1], ARGV[3])
    return {1, ARGV[3]}
end
return {0, log}
