#!lua flags=allow-oom
-- Packs a whole segment of which few values are left.
-- Statuses: OK; NO: it has more values or bytes than that, or is not whole.
-- Repeat: harmless.
-- KEYS  meta segments small noted v e c h
-- ARGV  values-max bytes-max
-- REPLY status
--@include call.lua
local meta, segments, small, noted, v, e, c, h = unpack(KEYS)
local values_max, bytes_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local call, refused = begin(meta)
if refused then return refused end
local seg = load_segment(small, name_of(c), {v = v, e = e, c = c, h = h})
if not seg or seg.packed or seg.there == 0 or seg.there > values_max then return {'NO'} end
local packed, bytes = {seg.outside}, 0
local values = redis.call('LRANGE', v, 0, -1)
for i, bytes_of in ipairs(values) do
  if bytes_of ~= '' then -- also what has ended and is still to be erased
    local value = i + 1
    packed[#packed + 1] = value
    packed[#packed + 1] = holds_on(seg, value)
    packed[#packed + 1] = redis.call('HGET', e, value) or ''
    packed[#packed + 1] = bytes_of
    packed[#packed + 1] = redis.call('GETRANGE', h, 32 * value - 64, 32 * value - 33)
    bytes = bytes + #bytes_of
  end
end
if bytes > bytes_max then return {'NO'} end
open_tally(call)
note(seg.name)
redis.call('HSET', small, seg.name, cmsgpack.pack(packed))
redis.call('UNLINK', v, e, c, h)
redis.call('ZREM', segments, seg.name)
close_tally(call, noted)
return {'OK'}
