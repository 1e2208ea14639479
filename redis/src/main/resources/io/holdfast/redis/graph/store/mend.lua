#!lua flags=allow-oom
-- One write of the repair of a graph of which a call was torn. From the torn call to the end of its repair no other
-- script writes; each write here may be repeated, and a repair that was cut off itself is begun anew.
-- Statuses: OK; SOUND: no call was torn; BUSY: another client repairs it, or this one took too long.
-- Repeat: harmless.
-- KEYS  meta doomed roots segments small ids noted key…
-- ARGV  what by name data…
-- REPLY status
-- What, and its further keys and data
--   begin                              takes the token        tear       the same, for a graph that was not torn
--   whole NAME   v e c h   counts, values to be erased        packed NAME   v e c h   the segment
--   erase NAME   v e c h                                      release       lease     ids that are not there
--   root NAME    the record, or none                          content       content ids and ids
--   end          how many values there are: the graph is in use again
--@include ../../lease/time.lua
--@include ../../hold/tally.lua
local meta, doomed, roots, segments, small, ids, noted = unpack(KEYS, 1, 7)
local what, by, name, data = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local TOKEN_MS = 30000
local now = clock()
local is = redis.call('HMGET', meta, 'T', 'U', 'mender')
local mender, until_ms = string.match(is[3] or '', '^(%S+) (%d+)$')
local begins = what == 'begin' or what == 'tear'
if not is_torn(is[1], is[2]) and what ~= 'tear' then return {'SOUND'} end
if mender ~= by and (not begins or (mender and now < tonumber(until_ms))) then return {'BUSY'} end
redis.call('HSET', meta, 'mender', by .. ' ' .. string.format('%.0f', now + TOKEN_MS))
local v, e, c = unpack(KEYS, 8)
if begins then
  if not is_torn(is[1], is[2]) then raise(meta) end
  redis.call('HSET', meta, 'noting', 0) -- no verdict for a verify that runs
  redis.call('DEL', ids)
elseif what == 'whole' then
  redis.call('HDEL', small, name)
  redis.call('ZADD', segments, 0, name)
  redis.call('SET', c, data)
  for i = 5, #ARGV do
    redis.call('HDEL', e, ARGV[i])
    redis.call('LSET', v, ARGV[i] - 2, '')
  end
elseif what == 'packed' or what == 'erase' then
  if data then redis.call('HSET', small, name, data) else redis.call('HDEL', small, name) end
  redis.call('UNLINK', unpack(KEYS, 8))
  redis.call('ZREM', segments, name)
elseif what == 'release' then
  redis.call('HDEL', v, unpack(ARGV, 4))
elseif what == 'root' then
  if data then redis.call('HSET', roots, name, data) else redis.call('HDEL', roots, name) end
elseif what == 'content' then
  redis.call('HSET', ids, unpack(ARGV, 4))
elseif what == 'end' then
  redis.call('DEL', doomed, noted)
  redis.call('HSET', meta, 'values', data, 'mender', '', 'U', redis.call('HGET', meta, 'T'))
end
return {'OK'}
