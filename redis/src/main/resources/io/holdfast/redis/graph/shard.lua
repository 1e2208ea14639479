-- What every script of a graph begins with: the server's time and the shard's meta, and the meaning of a count.
-- Needs: meta.

local time = redis.call('TIME')
local seconds, part = tonumber(time[1]), tonumber(time[2])
local now = seconds * 1000 + math.floor(part / 1000)
local micros = seconds * 1000000 + part

-- For arguments and replies: the server would write a number out with all seventeen digits, which takes it longer than most
-- commands. For the same reason numbers that never change are written as text.
local function digits(number)
  return string.format('%.0f', number)
end

local about = redis.call('HMGET', meta, 'width', 'run', 'quiet', 'longest', 'verify', 'mark', 'seen', 'shortest', 'paused')
if not about[1] then return {'NOGRAPH'} end
local width = tonumber(about[1])

-- Whether deadlines prove nothing: this server was replaced (another run id or replication id), no script ran for a
-- while (it stalled, or everybody else did), or its clock jumped, less than the longest lease ago. Then nothing may lapse
-- or be reclaimed: the holders have not had their chance to renew. The same holds while the graph is paused.
-- meta longest and shortest: LENGTH;UNTIL of the longest and the shortest lease, until when it is known to be out.
local WATCH = 8000 -- idle clients look every 5 s
local function length_of(noted)
  return tonumber(string.match(noted or '', '^%d+') or 0), tonumber(string.match(noted or '', ';(%d+)$') or 0)
end

-- Notes the length of a lease that is taken or renewed; one that is no longer out makes room.
local function note_length(length)
  local longest, longest_until = length_of(about[4])
  local shortest, shortest_until = length_of(about[8])
  local noted = digits(length) .. ';' .. digits(now + length)
  if length >= longest or longest_until < now then
    about[4] = noted
    redis.call('HSET', meta, 'longest', noted)
  end
  if length <= shortest or shortest_until < now then
    about[8] = noted
    redis.call('HSET', meta, 'shortest', noted)
  end
end

local function server_run()
  local server = redis.call('INFO', 'server', 'replication')
  local run_at = string.find(server, 'run_id:', 1, true) + 7 -- a pattern would be tried at every letter
  local replication_at = (string.find(server, 'master_replid:', run_at, true) or #server) + 14
  return string.sub(server, run_at, run_at + 39) .. '/' .. string.sub(server, replication_at, replication_at + 39)
end

local is_quiet
local function quiet()
  if is_quiet ~= nil then return is_quiet end
  local run, seen = server_run(), tonumber(about[7] or now)
  local shortest, shortest_until = length_of(about[8])
  local gap, gap_max = now - seen, shortest_until > seen and math.min(WATCH, shortest / 2) or WATCH
  if run ~= about[2] or gap < 0 or gap > gap_max then
    about[2] = run
    about[3] = digits(now + length_of(about[4]))
    redis.call('HSET', meta, 'run', run, 'quiet', about[3], 'seen', digits(now))
  elseif gap > 100 or not about[7] then
    redis.call('HSET', meta, 'seen', digits(now))
  end
  is_quiet = now < tonumber(about[3]) or (about[9] or '') ~= ''
  return is_quiet
end

-- While a mark is out (meta mark = deadline;token) somebody reads all values, and nothing is freed: else what he has
-- passed could take a name over from a value ahead of him that then goes, and he would see the name in neither. What
-- nobody holds is doomed meanwhile. After its deadline a mark is as good as none.
local marked_until = about[6] and tonumber(string.match(about[6], '^(%d+);')) or 0
local marked = now < marked_until

-- Redis keeps a small hash as a list, and looks through all of it for every field that is asked for. A long field, set
-- and deleted again, makes it a table for as long as it is not empty. To be called after writing new fields.
local WIDE = string.rep(' ', 65)
local function widen(hash)
  if redis.call('HLEN', hash) <= 512 then
    redis.call('HSET', hash, '', WIDE)
    redis.call('HDEL', hash, '')
  end
end

-- While a verify runs (meta verify = on;deadline;token), every script notes what it changes: a value when its entries,
-- its holds or its hints change, a lease when it is taken, ends or gives something up. The verifier takes the notes away
-- as it goes; if more gather than this bound its verdict is void. After its deadline a verifier is as good as dead.
local noting = about[5] and string.sub(about[5], 1, 3) == 'on;'
  and now < tonumber(string.match(about[5], '^on;(%d+);'))
local function note(ids)
  if noting and #ids > 0 then
    if redis.call('SCARD', changed) + #ids > 100000 then
      noting = false
      redis.call('HSET', meta, 'verify', 'void' .. string.sub(about[5], 3))
    else
      redis.call('SADD', changed, unpack(ids))
    end
  end
end

-- The state of a value, from its entry in counts:
--   none         held once, if it is in values; only of small values without children
--   n            held n times; 0: doomed
--   n|v,e        the same, of a large value in v chunks of bytes and e chunks of edges
--   b|v,e|lease  being built under a lease
--   d|v,e        draining; what is left of it
-- Answers the number of holds and the shape ('|v,e' or ''), or nil and the letter of the state.
local function holds(count)
  local plain = tonumber(count)
  if plain then return plain, '' end
  local number, shape = string.match(count, '^(%d+)(|%d+,%d+)$')
  if number then return tonumber(number), shape end
  return nil, string.sub(count, 1, 1)
end

-- The ids of a packed string; struct cuts it faster than a loop.
local formats = {}
local function ids_of(packed)
  local n = #packed / width
  local format = formats[n]
  if not format then
    format = string.rep('c' .. width, n)
    formats[n] = format
  end
  local ids = {struct.unpack(format, packed)}
  ids[n + 1] = nil -- where the reading ended
  return ids
end

local function chunk(id, index)
  return id .. struct.pack('>I4', index)
end
