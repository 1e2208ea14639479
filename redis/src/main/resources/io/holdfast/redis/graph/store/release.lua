#!lua flags=allow-oom
-- Gives up values that a lease holds. Those that it does not hold are left alone.
-- Repeat: harmless.
-- KEYS  meta lease doomed noted
-- ARGV  name id…
-- REPLY status released
--@include call.lua
local meta, lease, doomed, noted = unpack(KEYS)
local call, refused = begin(meta)
if refused then return refused end
local work, held, seen = new_work(), {}, {}
for i = 2, #ARGV do
  local id = ARGV[i]
  if not seen[id] and redis.call('HEXISTS', lease, id) == 1 then
    seen[id] = true
    held[#held + 1] = id
    give_up_id(work, id, 'released ' .. ARGV[1])
  end
end
if held[1] then
  open_tally(call)
  queue_work(call, doomed, work)
  redis.call('HDEL', lease, unpack(held))
  close_tally(call, noted)
end
return {'OK', #held}
