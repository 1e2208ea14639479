#!lua flags=allow-oom
-- Begins a verify, carries it on, and ends it. From begin to end every script notes what it changes (see shard.lua), so
-- that the verifier can tell what it saw in one state from what moved under it. Carrying on moves the deadline and hands
-- out notes; those that the verifier has seen it names in its next call, and only then they go: every call may be
-- repeated. There is one verify at a time; that of a verifier that died is over at its deadline.
-- KEYS  meta changed values incoming
-- ARGV  operation token lease cursor seen…
-- REPLY status run cursor noted
local meta, changed, values, incoming = unpack(KEYS)
--@include shard.lua
--@include names.lua

local operation, token, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local state, deadline, holder
if about[5] then
  state, deadline, holder = string.match(about[5], '^(%a+);(%d+);(.*)$')
  deadline = tonumber(deadline)
end
-- Which server this is, and how often values had another name there: with either another one, what was read counts for nothing.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. '/' .. (redis.call('HGET', meta, 'torn') or 0)

if operation == 'begin' and holder ~= token then
  if holder and now < deadline then return {'BUSY', run, '0', {}} end
  redis.call('UNLINK', changed)
  redis.call('HSET', meta, 'verify', 'on;' .. digits(now + lease) .. ';' .. token)
  return {'OK', run, '0', {}}
end
if holder ~= token then return {'LOST', run, '0', {}} end
if operation == 'end' then
  redis.call('HDEL', meta, 'verify')
  redis.call('UNLINK', changed)
  return {'OK', run, '0', {}}
end
if state ~= 'on' then return {'OVERFLOW', run, '0', {}} end
if now >= deadline then return {'LOST', run, '0', {}} end
redis.call('HSET', meta, 'verify', 'on;' .. digits(now + lease) .. ';' .. token)
if #ARGV > 4 then redis.call('SREM', changed, unpack(ARGV, 5)) end
local page = redis.call('SSCAN', changed, ARGV[4], 'COUNT', 2000)
return {'OK', run, page[1], page[2]}
