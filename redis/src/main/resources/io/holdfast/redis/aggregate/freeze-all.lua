#!lua flags=allow-oom
-- Ends open epochs that were begun before the given one, held or not; a page of keys a call. A key that is open for
-- the whole time is on a page: every open key is in `due`.
-- Repeat: harmless; it may be made with the same cursor.
-- KEYS  things due closing claims ends kept
-- ARGV  by evidence before cursor limit
-- REPLY cursor frozen
--@include ../lease/time.lua
--@include ../hold/tally.lua
--@include frozen.lua
local keys = {things = KEYS[1], due = KEYS[2], closing = KEYS[3], claims = KEYS[4], ends = KEYS[5], kept = KEYS[6]}
local by, evidence, before, now, frozen = ARGV[1], ARGV[2], ARGV[3], clock(), 0
local got = redis.call('HMGET', keys.things, 'T', 'U')
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local page = redis.call('ZSCAN', keys.due, ARGV[4], 'COUNT', ARGV[5])
local raised
for i = 1, #page[2], 2 do
  local thing = page[2][i]
  local record = redis.call('HGET', keys.things, thing)
  if record and string.byte(record) ~= 48 and string.sub(record, 1, 16) < before then
    raised = raised or raise(keys.things)
    if freeze(keys, thing, record, now, by, evidence) then
      frozen = frozen + 1
    end
  end
end
if raised then
  redis.call('HSET', keys.things, 'U', raised)
end
return {page[1], frozen}
