#!lua flags=allow-oom
-- Ends a lease, because its client says so or because it is past its deadline, and gives up what it holds, a page at a
-- time. A lapse takes two calls: the first ends the lease, later ones give up.
-- Statuses: OK; MORE: call again; RENEWED: it is not past its deadline; QUIET: deadlines prove nothing now.
-- Repeat: harmless.
-- KEYS  meta leases lengths lease doomed noted
-- ARGV  name late
-- REPLY status
--@include call.lua
local meta, leases, lengths, lease, doomed, noted = unpack(KEYS)
local name, late = ARGV[1], ARGV[2] == '1'
local PAGE = 200
local call, refused = begin(meta)
if refused then return refused end
local now = clock()
local deadline = tonumber(redis.call('ZSCORE', leases, name) or 0)
if late then
  local quiet_until, _, paused = quiet(meta, lengths, leases, now)
  if deadline > now then
    return {'RENEWED'}
  elseif now < quiet_until or paused ~= '' then
    return {'QUIET'}
  end
end
local record = redis.call('HMGET', lease, 'seq', 'valid')
open_tally(call)
if record[1] then redis.call('HDEL', lease, 'seq') end
redis.call('ZREM', lengths, name)
local status = 'MORE'
if not (late and record[1]) then
  local work, ids = new_work(), {}
  local fields = redis.call('HSCAN', lease, 0, 'COUNT', PAGE)[2]
  for i = 1, #fields, 2 do
    if #ids < PAGE and string.byte(fields[i], 17) == 46 then -- SEGMENT.VALUE
      ids[#ids + 1] = fields[i]
      give_up_id(work, fields[i], (late and 'lapsed ' or 'closed ') .. name)
    end
  end
  if ids[1] then
    queue_work(call, doomed, work)
    redis.call('HDEL', lease, unpack(ids))
  end
  local left = redis.call('HLEN', lease)
  if left <= 3 then -- holder, valid, reply
    -- The record stays as long as a repeat of hold.lua may come.
    local valid = tonumber(record[2] or 0)
    if now > valid then
      redis.call('DEL', lease)
      redis.call('ZREM', leases, name)
    else
      redis.call('ZADD', leases, valid, name)
    end
    status = 'OK'
  end
end
close_tally(call, noted)
return {status}
