package io.holdfast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SettingTest {

    private static final Setting<Duration> GRACE =
            Setting.duration("sessions.grace", Duration.ofSeconds(30), Duration.ZERO, Duration.ofDays(1));

    @Test
    void codeBeatsPropertiesBeatEnvironmentBeatsDefault() {
        Properties properties = new Properties();
        Map<String, String> environment = Map.of("HOLDFAST_SESSIONS_GRACE", "40s");
        assertThat(Settings.none().get(GRACE)).isEqualTo(Duration.ofSeconds(30));
        assertThat(Settings.of(properties, environment).get(GRACE)).isEqualTo(Duration.ofSeconds(40));
        properties.setProperty("holdfast.sessions.grace", "50s");
        Settings settings = Settings.of(properties, environment);
        assertThat(settings.get(GRACE)).isEqualTo(Duration.ofSeconds(50));
        assertThat(settings.set(GRACE, Duration.ofSeconds(60)).get(GRACE)).isEqualTo(Duration.ofSeconds(60));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "30", "2d", "-1s", "x", "99999999999999s"})
    void nonsenseIsRefusedWithNameValueAndWhatIsAllowed(String text) {
        Properties properties = new Properties();
        properties.setProperty("holdfast.sessions.grace", text);
        assertThatThrownBy(() -> Settings.of(properties, Map.of()).get(GRACE))
                .isInstanceOf(HoldfastException.class)
                .hasMessage("setting sessions.grace = '" + text + "' is not allowed; allowed: 0ms to 1d");
        assertThatThrownBy(() -> Settings.none().set(GRACE, Duration.ofDays(2)))
                .hasMessageContaining("sessions.grace = '2d'");
    }

    @Test
    void unknownPropertyIsRefused() {
        Properties properties = new Properties();
        properties.setProperty("holdfast.sessions.grase", "1s");
        assertThatThrownBy(() -> Settings.of(properties, Map.of()).refuseUnknown("holdfast.sessions.", List.of(GRACE)))
                .hasMessage("unknown setting holdfast.sessions.grase")
                .extracting(refused -> ((HoldfastException) refused).action())
                .isEqualTo("did you mean holdfast.sessions.grace? docs/configuration.md lists all settings");
    }

    @ParameterizedTest
    @CsvSource({"250ms,250", "5s,5000", "15m,900000", "1h,3600000", "7d,604800000", "0ms,0", "90s,90000"})
    void durationsHaveAnExactTextForm(String text, long millis) {
        assertThat(Setting.parseDuration(text)).isEqualTo(Duration.ofMillis(millis));
        assertThat(Setting.text(Duration.ofMillis(millis))).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"512,512", "16KiB,16384", "64MiB,67108864", "2GiB,2147483648"})
    void sizesAreReadWithTheirUnit(String text, long bytes) {
        Setting<Long> size = Setting.bytes("size", bytes, 0, Long.MAX_VALUE);
        assertThat(size.parse(text)).isEqualTo(bytes);
        assertThat(size.defaultText()).isEqualTo(text);
    }

    @Test
    void choicesAndFlagsNameWhatTheyAllow() {
        Setting<ReclaimReason> choice = Setting.choice("reason", ReclaimReason.LAPSED);
        assertThat(choice.parse("closed")).isEqualTo(ReclaimReason.CLOSED);
        assertThatThrownBy(() -> choice.parse("tired")).hasMessageContaining("released, lapsed, closed");
        Setting<Boolean> flag = Setting.flag("on", true);
        assertThat(flag.parse("false")).isFalse();
        assertThatThrownBy(() -> flag.parse("no")).hasMessageContaining("true or false");
        Setting<Integer> number = Setting.integer("threads", 2, 1, 64);
        assertThatThrownBy(() -> number.parse("65")).hasMessageContaining("1 to 64");
        assertThatThrownBy(() -> number.parse("two")).hasMessageContaining("1 to 64");
    }
}
