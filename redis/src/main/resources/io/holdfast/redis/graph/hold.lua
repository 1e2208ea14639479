#!lua flags=allow-oom
-- Takes a lease. It holds nothing yet (a writer), or one value, or the value that a root names now (a snapshot).
-- valid-until: the server time after which this call is a ghost; a lease outlives it, released or not, so that a repeat
-- either finds the lease or comes too late.
-- KEYS  meta values counts leases lease-info held roots changed incoming
-- ARGV  lease valid-until length kind holder target
-- REPLY status target now born
local meta, values, counts, leases, info, held, roots, changed, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lease.lua

local lease, length, kind, target = ARGV[1], tonumber(ARGV[3]), ARGV[4], ARGV[6]
local known = read_lease(lease)
if known then
  if known.state ~= 'a' then return {'LAPSED', '', digits(now), ''} end
  return {'OK', known.reply, digits(now), known.born}
end
if now > tonumber(ARGV[2]) then return {'STALE', '', digits(now), ''} end
if kind == 's' then
  local root = redis.call('HGET', roots, target)
  if not root then return {'NOROOT', '', digits(now), ''} end
  target = string.match(root, '^%d+;%x+;(.*)$')
end
if kind ~= 'w' then
  if #target ~= width then return {'WIDTH', about[1], digits(now), ''} end
  local count = redis.call('HGET', key_of(counts, target), target)
  local n, shape = 1, ''
  if count then
    n, shape = holds(count)
  elseif redis.call('HEXISTS', key_of(values, target), target) == 0 then
    n = nil
  end
  -- A store that was just replaced may not know of a hold that it had: what is doomed there meanwhile is taken back.
  if not n or n == 0 and not quiet() then return {shape == 'b' and 'BUILDING' or 'GONE', target, digits(now), ''} end
  -- A lease of this name is dead, and what it held is not yet released: this is a ghost, let in by a clock set back.
  if redis.call('ZSCORE', held, lease .. target) then return {'LAPSED', '', digits(now), ''} end
  note({target, lease})
  set_all(counts, {target, digits(n + 1) .. shape}, true)
  redis.call('ZADD', held, 0, lease .. target)
end
note_length(length)
redis.call('ZADD', leases, digits(now + length), lease)
write_lease(lease, {sequence = 0, state = 'a', length = length, kind = kind, born = digits(micros),
  holder = ARGV[5], reply = kind == 'w' and '' or target})
return {'OK', target, digits(now), digits(micros)}
